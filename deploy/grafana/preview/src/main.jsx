// Draws one board: ?board=URL of its JSON&prometheus=URL&span=SECONDS&instance=HOST, and what else its variables are.
import { ThemeContext, createTheme, getDisplayValueAlignmentFactors } from '@grafana/data';
import { BarGauge, BigValue, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { chosen, filled, frames, timeRange } from './query.js';
import { Timeline } from './timeline.jsx';

const UNIT = 36; // height of a row of Grafana's grid, in pixels
const GAP = 8;
const parameters = new URLSearchParams(window.location.search);
const width = Number(parameters.get('width') || 1400);
const choice = chosen(parameters);
const theme = createTheme({ colors: { mode: parameters.get('mode') || 'dark' } });

const last = (frame) => {
  const field = frame.fields.findLast((one) => one.type === 'number');
  return { ...field.display(field.values.at(-1)), title: field.state.displayName };
};

function Stats({ panel, found, w, h }) {
  const part = w / found.length;
  return found.map((frame, i) => (
    <div key={i} style={{ float: 'left' }}>
      <BigValue value={{ ...last(frame), title: found.length > 1 || panel.options?.textMode === 'value_and_name' ? frame.name : '' }} theme={theme} width={part} height={h} colorMode={panel.options?.colorMode} />
    </div>
  ));
}

function Bars({ panel, found, w, h }) {
  const line = Math.max(18, Math.min(44, h / found.length - 6));
  const most = Math.max(...found.map((frame) => last(frame).numeric));
  const aligned = getDisplayValueAlignmentFactors(found.map((frame) => ({ display: last(frame) })));
  return found.map((frame, i) => {
    const field = frame.fields[1];
    return <BarGauge key={i} value={last(frame)} alignmentFactors={aligned} field={{ ...field.config, max: most }} display={field.display} text={panel.options?.text} theme={theme} width={w} height={line} itemSpacing={6} orientation="horizontal" displayMode={panel.options?.displayMode} />;
  });
}

function Body({ panel, found, w, h }) {
  if (panel.type === 'timeseries') {
    return <TimeSeries frames={found} structureRev={1} timeRange={timeRange(choice)} timeZone="utc" width={w} height={h} legend={panel.options?.legend} options={panel.options} />;
  }
  if (panel.type === 'stat') return <Stats panel={panel} found={found} w={w} h={h} />;
  if (panel.type === 'bargauge') return <Bars panel={panel} found={found} w={w} h={h} />;
  if (panel.type === 'table') return <TableNG data={found[0]} width={w} height={h} fieldConfig={panel.fieldConfig} />;
  if (panel.type === 'state-timeline') return <Timeline frames={found} width={w} height={h} from={choice.from} to={choice.to} theme={theme} />;
  if (panel.type === 'text') return <pre>{panel.options.content}</pre>;
  return <span>{panel.type} is not drawn here</span>;
}

function Panel({ panel, top }) {
  const [answer, setAnswer] = React.useState(null);
  React.useEffect(() => {
    frames(panel, choice, theme).then((found) => setAnswer({ found }), (error) => setAnswer({ error: String(error) }));
  }, [panel]);
  const { x, y, w, h } = panel.gridPos;
  const unit = width / 24;
  const size = { width: w * unit - GAP, height: h * UNIT - GAP };
  const style = { position: 'absolute', left: x * unit + GAP / 2, top: (y - top) * UNIT, ...size };
  const shown = (inner, innerHeight) => {
    if (!answer) return null;
    if (answer.error) return <b style={{ color: 'red' }}>{answer.error}</b>;
    if (!answer.found.length) return <b style={{ color: 'orange' }}>No data</b>;
    return <Body panel={panel} found={answer.found} w={inner} h={innerHeight} />;
  };
  return <div style={style}><PanelChrome title={filled(panel.title, choice)} {...size}>{shown}</PanelChrome></div>;
}

function RowTitle({ panel }) {
  const style = { position: 'absolute', left: GAP, top: panel.gridPos.y * UNIT + 8, fontFamily: theme.typography.fontFamily, fontWeight: 500 };
  return <div style={style}>{panel.collapsed ? '▸' : '▾'} {filled(panel.title, choice)}</div>;
}

const board = await (await fetch(parameters.get('board'))).json();
const opened = parameters.get('open');
const shown = opened === null ? board.panels : board.panels.filter((one) => one.title === opened).flatMap((one) => one.panels);
const top = Math.min(...shown.map((panel) => panel.gridPos.y));
createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles isExtensionSidebarOpen={false} />
    <div style={{ color: theme.colors.text.primary, background: theme.colors.background.canvas, position: 'relative', width, height: 5000 }}>
      {shown.map((panel) => (panel.type === 'row' ? <RowTitle key={panel.id} panel={panel} /> : <Panel key={panel.id} panel={panel} top={top} />))}
    </div>
  </ThemeContext.Provider>,
);
