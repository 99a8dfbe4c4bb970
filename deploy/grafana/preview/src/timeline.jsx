// A state timeline: @grafana/ui has none, so the states are drawn as boxes in the colours of the value mappings.
import React from 'react';

const LABEL = 130;

function boxes(frame) {
  const [time, field] = frame.fields;
  const found = [];
  time.values.forEach((at, i) => {
    const value = field.values[i];
    const last = found.at(-1);
    if (last && last.value === value) last.to = at;
    else if (value !== null) found.push({ value, from: last?.value === null ? at : (time.values[i - 1] ?? at), to: at });
    else found.push({ value, from: at, to: at });
  });
  return found.filter((box) => box.value !== null).map((box) => ({ ...box, ...field.display(box.value) }));
}

export function Timeline({ frames, width, height, from, to, theme }) {
  const line = Math.min(34, (height - 24) / Math.max(1, frames.length));
  const scale = (width - LABEL) / ((to - from) * 1000);
  const at = (ms) => LABEL + (ms - from * 1000) * scale;
  const text = { fontSize: 12, fill: theme.colors.text.secondary };
  const times = [0.1, 0.35, 0.6, 0.85].map((part) => from + part * (to - from));
  return (
    <svg width={width} height={height}>
      {frames.map((frame, i) => (
        <g key={i}>
          <text x={LABEL - 8} y={(i + 0.6) * line} textAnchor="end" style={text}>{frame.name}</text>
          <rect x={LABEL} y={(i + 0.1) * line} width={width - LABEL} height={line * 0.8} fill={theme.colors.background.secondary} />
          {boxes(frame).map((box, j) => (
            <rect key={j} x={at(box.from)} y={(i + 0.1) * line} width={Math.max(1, at(box.to) - at(box.from))} height={line * 0.8} fill={box.color} fillOpacity={0.85} />
          ))}
        </g>
      ))}
      {times.map((when) => <text key={when} x={at(when * 1000)} y={height - 6} textAnchor="middle" style={text}>{new Date(when * 1000).toISOString().slice(11, 19)}</text>)}
    </svg>
  );
}
