// The run as the page holds it: columns of numbers, decoded once. Nothing is drawn here.
"use strict";
const raw = JSON.parse(document.getElementById("data").textContent);

/** Adds up differences. */
function summed(differences, into) {
  let sum = 0;
  for (let i = 0; i < differences.length; i++) into[i] = sum += differences[i];
  return into;
}

const run = (() => {
  const count = raw.steps.length;
  const steps = summed(raw.steps, new Float64Array(count));
  const times = summed(raw.times, new Float64Array(count));
  // Where an event stands on the axis of time. Strategies other than `timed` pick calls out of order; the axis goes on.
  const onAxis = new Float64Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) onAxis[i] = last = Math.max(last, times[i]);
  const holes = raw.patterns.map((pattern) => pattern.split("\u0001").length - 1);
  const numbersFrom = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) numbersFrom[i + 1] = numbersFrom[i] + holes[raw.pattern[i]];
  const past = new Uint8Array(count);
  let at = 0;
  raw.past.forEach((length, index) => {
    if (index % 2 === 1) past.fill(1, at, at + length);
    at += length;
  });
  const lane = Uint16Array.from(raw.lane);
  const kind = Uint16Array.from(raw.kind);
  const classOf = Uint8Array.from(raw.kind, (number) => raw.kind_classes[number]);
  const story = new Map(raw.story.map((row, index) => [row, index + 1]));
  return { count, steps, times, onAxis, numbersFrom, past, lane, kind, classOf, story, violation: raw.violation, lanes: raw.lanes };
})();

/** The words of an event. */
function words(row) {
  let number = run.numbersFrom[row];
  const parts = raw.patterns[raw.pattern[row]].split("\u0001");
  let text = parts[0];
  for (let i = 1; i < parts.length; i++) text += raw.numbers[number++] + parts[i];
  return text;
}

/** The first row for which `isBeyond` holds, of rows for which it holds from one on. */
function search(count, isBeyond) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBeyond(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

/** A number with its thousands apart. */
function grouped(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A duration or a moment in simulated time. */
function duration(ns, digits = 3) {
  const size = Math.abs(ns);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return `${Number((ns / unit).toPrecision(Math.max(digits, 1)))} ${name}`;
}

/** A moment, exact enough to tell neighbours apart. */
function moment(ns) {
  return `${(ns / 1e9).toFixed(6)} s`;
}

const BAR = { LIFE: 0, PAUSE: 1, OPERATION: 2, WAIT: 3, HOLD: 4, TRANSACTION: 5, CHECKPOINT: 6 };
const CLASS = { LIVES: 0, FAULTS: 1, LOCKS: 2, MESSAGES: 3, FILES: 4, SQLITE: 5, CLAIMS: 6, TASKS: 7 };
const CLASS_COLOURS = ["--lives", "--faults", "--locks", "--messages", "--files", "--sqlite", "--claims", "--tasks"];

/** Bars by lane, each lane's in the order of their beginnings. */
const bars = (() => {
  const lanes = run.lanes.map(() => []);
  const { lane, kind, label, from, to, level } = raw.bars;
  for (let i = 0; i < lane.length; i++) {
    lanes[lane[i]].push({ kind: kind[i], label: raw.labels[label[i]], from: from[i], to: to[i], level: level[i] });
  }
  return lanes;
})();

/** Messages, in the order in which they were sent; `to` is −1 for one that never arrived. */
const arrows = raw.arrows.from.map((from, i) => ({ from, to: raw.arrows.to[i] }));

/** By arrow: the last row that it or an earlier one reaches. */
const arrowsReach = (() => {
  let reach = 0;
  return arrows.map((arrow) => (reach = Math.max(reach, arrow.from, arrow.to)));
})();

/** The other end of a message: by row. */
const peers = new Map();
for (const arrow of arrows) {
  if (arrow.to < 0) continue;
  if (!peers.has(arrow.from)) peers.set(arrow.from, arrow.to);
  peers.set(arrow.to, arrow.from);
}
