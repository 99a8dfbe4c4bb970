// What a panel shows: its queries asked of Prometheus, as data frames with the panel's field settings applied.
import {
  FieldType, dateTime, getDisplayProcessor, standardTransformers, standardTransformersRegistry, toDataFrame, transformDataFrame,
} from '@grafana/data';
import { firstValueFrom } from 'rxjs';

const POINTS = 300;

standardTransformersRegistry.setInit(() =>
  [...new Map(Object.values(standardTransformers).map((one) => [one.id, one])).values()].map((one) => ({ id: one.id, name: one.name, transformation: one, editor: null })));

export function chosen(parameters) {
  const to = Date.now() / 1000;
  const span = Number(parameters.get('span') || 120);
  const step = Math.max(1, Math.round(span / POINTS));
  const values = { ...Object.fromEntries(parameters), __rate_interval: `${Math.max(5, 4 * step)}s`, __range: `${span}s`, __range_s: String(span) };
  return { prometheus: parameters.get('prometheus'), from: to - span, to, step, values };
}

export const filled = (text, { values }) =>
  text.replace(/\$\{?([a-z_]\w*)(?::\w+)?\}?/g, (whole, name) => values[name] ?? (name === 'instance' ? whole : '.*'));

export function timeRange({ from, to }) {
  const ends = { from: dateTime(from * 1000), to: dateTime(to * 1000) };
  return { ...ends, raw: ends };
}

const legend = (format, labels) =>
  (format || '').replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? '') || labels.__name__ || 'Value';

async function ask(target, choice) {
  const { prometheus, from, to, step } = choice;
  const query = filled(target.expr, choice);
  const asked = target.instant ? { query, time: to } : { query, start: from, end: to, step };
  const url = `${prometheus}/api/v1/${target.instant ? 'query' : 'query_range'}?${new URLSearchParams(asked)}`;
  const body = await (await fetch(url)).json();
  if (body.status !== 'success') throw new Error(body.error);
  return body.data.result.map((series) => ({ labels: series.metric, values: series.values ?? [series.value] }));
}

function seriesFrame(target, { labels, values }, { from, to, step }) {
  const seen = new Map(values.filter(([, value]) => value !== 'NaN').map(([time, value]) => [Math.round(time), Number(value)]));
  const times = values.length > 1 ? Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step) : values.map((v) => v[0]);
  const name = legend(target.legendFormat, labels);
  return toDataFrame({ refId: target.refId, name, fields: [
    { name: 'Time', type: FieldType.time, values: times.map((time) => time * 1000), config: {} },
    { name: 'Value', type: FieldType.number, values: times.map((time) => seen.get(Math.round(time)) ?? null), labels, config: { displayNameFromDS: name } },
  ] });
}

function tableFrame(target, series, several) {
  const labels = [...new Set(series.flatMap((one) => Object.keys(one.labels)))].filter((label) => label !== '__name__');
  const value = several ? `Value #${target.refId}` : 'Value';
  return toDataFrame({ refId: target.refId, fields: [
    { name: 'Time', type: FieldType.time, values: series.map((one) => one.values[0][0] * 1000), config: {} },
    ...labels.map((label) => ({ name: label, type: FieldType.string, values: series.map((one) => one.labels[label] ?? ''), config: {} })),
    { name: value, type: FieldType.number, values: series.map((one) => Number(one.values[0][1])), config: {} },
  ] });
}

const matches = ({ id, options }, frame, field, name) =>
  (id === 'byName' && name === options) || (id === 'byFrameRefID' && frame.refId === options && field.type === FieldType.number) ||
  (id === 'byRegexp' && new RegExp(options.replace(/^\/|\/$/g, '')).test(name));

function set(config, path, value) {
  if (path.startsWith('custom.')) config.custom = { ...config.custom, [path.slice(7)]: value };
  else config[path] = value;
}

function dressed(frames, fieldConfig, theme) {
  let index = 0;
  for (const frame of frames) for (const field of frame.fields) {
    const name = field.config.displayName ?? field.config.displayNameFromDS ?? field.name;
    const config = { ...structuredClone(fieldConfig.defaults || {}), ...field.config };
    for (const { matcher, properties } of fieldConfig.overrides || [])
      if (matches(matcher, frame, field, name)) properties.forEach(({ id, value }) => set(config, id, structuredClone(value)));
    delete config.links;
    for (const step of config.thresholds?.steps ?? []) step.value ??= -Infinity;
    if (field.type !== FieldType.number) { delete config.unit; delete config.thresholds; delete config.mappings; }
    config.color ??= { mode: config.thresholds && !config.custom?.thresholdsStyle ? 'thresholds' : 'palette-classic' };
    field.config = config;
    field.state = { ...field.state, displayName: name, seriesIndex: field.type === FieldType.number ? index++ : undefined };
    field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' });
  }
  return frames;
}

export async function frames(panel, choice, theme) {
  const targets = panel.targets || [];
  const answers = await Promise.all(targets.map((target) => ask(target, choice)));
  let found = panel.type === 'table'
    ? targets.map((target, i) => tableFrame(target, answers[i], targets.length > 1))
    : targets.flatMap((target, i) => answers[i].map((series) => seriesFrame(target, series, choice)));
  if (panel.transformations?.length)
    found = await firstValueFrom(transformDataFrame(panel.transformations, found, { interpolate: (text) => text }));
  return dressed(found.filter((frame) => frame.length > 0), panel.fieldConfig || {}, theme);
}
