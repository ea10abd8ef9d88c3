/**
 * The script of the page: shows a `Status`, and reads the next one a second after the last. All texts are set as text, so
 * that a host name or an error cannot become markup.
 */
export const pageScript = String.raw`
'use strict';
const byId = (id) => document.getElementById(id);
const make = (tag, text, ...names) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (names.length > 0) node.classList.add(...names);
  return node;
};
const known = (value) => value !== undefined && value !== null;
const percent = (share) => (100 * share).toFixed(0) + '%';
const stepText = (seconds) =>
  !known(seconds) ? '–' : seconds < 1 ? (1000 * seconds).toFixed(1) + ' ms' : seconds.toFixed(2) + ' s';
const lossText = (loss) =>
  loss === undefined ? '–' : loss === null ? 'NaN'
  : loss !== 0 && Math.abs(loss) < 1e-3 ? loss.toExponential(2) : loss.toFixed(4);
const rateText = (rate) => (known(rate) ? Math.round(rate).toLocaleString('en') : '–');

let lastAnswer = Date.now();
show(JSON.parse(byId('first').textContent));
setTimeout(refresh, 1000);

async function refresh() {
  try {
    const answer = await fetch('status.json', { signal: AbortSignal.timeout(10000) });
    if (answer.ok) {
      show(await answer.json());
      lastAnswer = Date.now();
    } else if (answer.status === 401) stateOf('signed out: open the URL that ringrun printed', 'bad');
  } catch {
    const seconds = Math.round((Date.now() - lastAnswer) / 1000);
    stateOf('the job has ended, or cannot be reached since ' + seconds + ' s', 'over');
  }
  setTimeout(refresh, 1000);
}

function stateOf(text, kind) {
  byId('state').textContent = text;
  byId('state').className = kind;
}

function show(status) {
  const restarts = status.restartCount > 0 ? ', restart ' + status.restartCount : '';
  byId('job').textContent =
    'job ' + (status.runId || '–') + ', ' + (status.worldSize === 1 ? '1 rank' : status.worldSize + ' ranks') + restarts;
  document.title = 'ringrun ' + status.runId + (known(status.loss) ? ': loss ' + lossText(status.loss) : '');
  showState(status);
  showProgress(status.progress);
  showTiles(status);
  byId('charts').hidden = status.curve.length < 2;
  byId('rate-title').textContent = status.unit + '/s of all ranks';
  drawCurve(byId('loss'), status.curve, (point) => point.loss, lossText);
  drawCurve(byId('rate'), status.curve, (point) => point.rate, rateText, 0);
  showRanks(status);
  showEvents(status.events);
}

function showState(status) {
  const silent = status.ranks.filter((rank) => rank.state === 'silent');
  if (silent.length > 0) stateOf('silent: rank ' + silent.map(({ rank }) => rank).join(', '), 'bad');
  else if (status.hasEnded) stateOf('training has ended', 'over');
  else if (status.ranks.length === 0) stateOf('starting', '');
  else if (status.ranks.every(({ state }) => state !== 'training')) stateOf('between epochs', '');
  else stateOf('training', '');
}

function showProgress(progress) {
  byId('progress').hidden = !progress;
  if (!progress) return;
  const total = progress.stepsOfEpoch || 1;
  const ofEpoch = progress.stepOfEpoch / total;
  const done = progress.epochs ? (progress.epoch - 1 + ofEpoch) / progress.epochs : ofEpoch;
  byId('epoch').textContent = 'epoch ' + progress.epoch + (progress.epochs ? ' of ' + progress.epochs : '');
  byId('step').textContent = 'step ' + progress.stepOfEpoch + ' of ' + progress.stepsOfEpoch;
  byId('done').style.width = 100 * Math.min(1, done) + '%';
}

function showTiles(status) {
  const tile = (name, value, remark) => {
    const node = make('div', undefined, 'tile');
    node.append(make('span', name), make('b', value), make('span', remark));
    return node;
  };
  const { slowest } = status;
  byId('tiles').replaceChildren(
    tile('Loss', lossText(status.loss), known(status.learningRate) ? 'learning rate ' + Number(status.learningRate.toPrecision(3)) : 'mean of the ranks'),
    tile(status.unit + '/s', rateText(status.rate), 'all ranks, last 10 s'),
    tile('Step', stepText(status.stepSeconds), 'mean of the last 10 s'),
    slowest
      ? tile('Slowest rank', 'rank ' + slowest.rank, 'waited ' + slowest.waited.toFixed(1) + ' s, the others ' + slowest.othersWaited.toFixed(1) + ' s')
      : tile('Slowest rank', 'none', 'all ranks wait equally long'),
  );
}

function showRanks(status) {
  const names = ['rank', 'host', 'state', 'steps', status.unit + '/s', 'step', 'waiting', 'last 10 s'];
  document.querySelector('thead tr').replaceChildren(
    ...names.map((name, i) => (i === 1 || i === 2 || i === 7 ? make('th', name, 'text') : make('th', name))),
  );
  byId('ranks').replaceChildren(...status.ranks.map((rank) => rowOf(rank, status.slowest)));
  const notes = [];
  if (status.missing.length > 0) notes.push('No figures yet from rank ' + status.missing.join(', ') + '.');
  if (status.hidden > 0) notes.push(status.hidden + ' ranks that wait longer are not shown; see metrics.');
  if (status.ranks.length > 0 && !status.progress) notes.push('Loss and rate are shown for scripts that call trainingReport.');
  byId('note').textContent = notes.join(' ');
}

function rowOf(rank, slowest) {
  const row = make('tr');
  if (slowest && slowest.rank === rank.rank) row.classList.add('slowest');
  const state = rank.state === 'silent' ? 'silent for ' + Math.round(rank.age) + ' s' : rank.state;
  const bar = make('div', undefined, 'bar');
  for (const part of ['input', 'compute', 'waiting']) {
    const piece = make('div', undefined, part);
    piece.style.width = 100 * rank[part] + '%';
    bar.append(piece);
  }
  bar.title = ['input', 'compute', 'waiting'].map((part) => part + ' ' + percent(rank[part])).join(', ');
  const shares = make('td', undefined, 'shares');
  shares.append(bar);
  row.append(
    make('td', String(rank.rank)),
    make('td', rank.host, 'text'),
    rank.state === 'silent' ? make('td', state, 'text', 'bad') : make('td', state, 'text'),
    make('td', rank.steps.toLocaleString('en')),
    make('td', rateText(rank.rate)),
    make('td', stepText(rank.stepSeconds)),
    make('td', percent(rank.waiting)),
    shares,
  );
  return row;
}

function showEvents(events) {
  byId('events-section').hidden = events.length === 0;
  byId('events').replaceChildren(
    ...events.toReversed().map(({ at, what }) => {
      const item = make('li');
      item.append(make('time', new Date(at).toLocaleTimeString('en-GB')), make('span', what));
      return item;
    }),
  );
}

function drawCurve(svg, points, valueOf, textOf, least) {
  const width = 480, height = 190, left = 4, right = 4, top = 18, bottom = 20;
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  if (points.length < 2) return;
  const values = points.map(valueOf);
  const low = least === undefined ? Math.min(...values) : least;
  const high = Math.max(...values);
  const first = points[0].step, last = points[points.length - 1].step;
  const x = (step) => left + ((step - first) / (last - first || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low || 1)) * (height - top - bottom);
  const node = (tag, attributes, text) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const line = (value) => node('line', { class: 'axis', x1: left, x2: width - right, y1: y(value), y2: y(value) });
  const path = points.map((point, i) => (i ? 'L' : 'M') + x(point.step).toFixed(1) + ' ' + y(values[i]).toFixed(1)).join('');
  svg.replaceChildren(
    line(low),
    line(high),
    node('path', { class: 'curve', d: path }),
    node('text', { x: left, y: y(high) - 5 }, textOf(high)),
    ...(least === undefined ? [node('text', { x: left, y: y(low) - 5 }, textOf(low))] : []),
    node('text', { x: left, y: height - 5 }, 'step ' + first),
    node('text', { x: width - right, y: height - 5, 'text-anchor': 'end' }, String(last)),
  );
}
`;
