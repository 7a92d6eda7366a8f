// What is shown, and how it changes: filters, zoom, keys, the fragment, light and dark, paper.

const state = {
  axis: "steps",
  view: [0, 1],
  scope: run.violation === null ? "all" : "story",
  hiddenLanes: new Set(),
  hiddenClasses: new Set(),
  query: "",
  selected: -1,
  criticalRows: [],
  isShown: (row) => !state.hiddenLanes.has(run.lane[row]) && !state.hiddenClasses.has(run.classOf[row]) && (matching === null || matching[row] === 1),
};
/** By row: whether it has the words that are looked for; null when none are. */
let matching = null;

const all = (selector) => [...document.querySelectorAll(selector)];
const extent = () => (state.axis === "steps" ? Math.max(1, run.count - 1) : Math.max(1, run.onAxis[run.count - 1] ?? 1));

/* Drawing: at most once a frame. */
let isDue = false;
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    diagram.draw(state);
    overview.draw();
  });
}

const overview = (() => {
  const frame = document.getElementById("overview");
  const canvas = frame.querySelector("canvas");
  const pen = canvas.getContext("2d");
  let width = 0, counts = null, countsAxis = "";
  const PAD = 16, HEIGHT = 40;
  const toX = (position) => PAD + (position / extent()) * (width - 2 * PAD);
  const rowX = (row) => toX(diagram.place(state, row));

  function resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    width = frame.clientWidth || 1000;
    canvas.width = width * ratio; canvas.height = HEIGHT * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    counts = null;
  }

  /** How many events of each process fall on each point of the strip. */
  function count() {
    if (counts && countsAxis === state.axis) return;
    countsAxis = state.axis;
    const columns = Math.ceil(width) + 1;
    counts = new Uint32Array(columns * run.lanes.length);
    for (let row = 0; row < run.count; row++) counts[Math.round(rowX(row)) + columns * run.lane[row]]++;
    counts.columns = columns;
    counts.most = counts.reduce((most, value) => Math.max(most, value), 1);
  }

  function draw() {
    count();
    const colours = diagram.colours();
    pen.clearRect(0, 0, width, HEIGHT);
    const [from, to] = state.view.map(toX);
    pen.fillStyle = colours.paper;
    pen.fillRect(Math.max(PAD, from), 0, Math.min(width - PAD, to) - Math.max(PAD, from), HEIGHT);
    const tall = 30 / run.lanes.length;
    pen.fillStyle = colours.accent;
    for (let cell = 0; cell < counts.length; cell++) {
      if (!counts[cell]) continue;
      pen.globalAlpha = .35 + .65 * Math.log1p(counts[cell]) / Math.log1p(counts.most);
      pen.fillRect(cell % counts.columns, 2 + Math.floor(cell / counts.columns) * tall, 1, Math.max(.8, tall - .4));
    }
    pen.globalAlpha = 1;
    const signs = colours.classes[CLASS.FAULTS];
    pen.fillStyle = signs;
    for (let row = 0; row < run.count; row++) {
      if (run.classOf[row] === CLASS.FAULTS) pen.fillRect(rowX(row) - .75, 33, 1.5, 6);
    }
    curve(colours);
    pen.strokeStyle = colours.ink; pen.lineWidth = 1;
    pen.strokeRect(Math.max(PAD, from) + .5, .5, Math.max(3, Math.min(width - PAD, to) - Math.max(PAD, from) - 1), HEIGHT - 1);
    if (run.violation !== null) {
      const x = rowX(run.violation);
      pen.fillStyle = colours.failed;
      pen.fillRect(x - 1, 4, 2, HEIGHT - 4);
      pen.beginPath(); pen.moveTo(x - 5, 0); pen.lineTo(x + 5, 0); pen.lineTo(x, 7); pen.fill();
    }
  }

  /** How probable the failure was, by step, as bisecting found it. */
  function curve(colours) {
    if (!raw.curve || raw.curve.length < 2) return;
    const y = (share) => 34 - share * 30;
    const x = raw.curve.map((point) => rowX(rowOfStep(point.step)));
    pen.fillStyle = colours.accent; pen.globalAlpha = .18;
    pen.beginPath();
    raw.curve.forEach((point, i) => pen.lineTo(x[i], y(point.high)));
    [...raw.curve].reverse().forEach((point, i) => pen.lineTo(x[x.length - 1 - i], y(point.low)));
    pen.fill();
    pen.globalAlpha = 1; pen.strokeStyle = colours.accent; pen.lineWidth = 1.6;
    pen.beginPath();
    raw.curve.forEach((point, i) => pen.lineTo(x[i], y(point.probability)));
    pen.stroke();
  }

  const move = (event) => {
    const position = ((event.offsetX - PAD) / (width - 2 * PAD)) * extent();
    const room = state.view[1] - state.view[0];
    setView(position - room / 2, position + room / 2);
  };
  frame.addEventListener("pointerdown", (event) => { frame.setPointerCapture(event.pointerId); move(event); });
  frame.addEventListener("pointermove", (event) => { if (event.buttons & 1) move(event); });
  return { draw, resize };
})();

/* The part of the axis that is seen. */
function setView(from, to) {
  const whole = extent(), margin = (to - from) * .04;
  let room = Math.min(Math.max(to - from, state.axis === "steps" ? 12 : 1000), whole * 1.1);
  let start = Math.max(-Math.max(margin, whole * .01), from);
  if (start + room > whole + Math.max(margin, whole * .01)) start = whole + Math.max(margin, whole * .01) - room;
  state.view = [start, start + room];
  redraw();
}

function zoom(factor, around) {
  const [from, to] = state.view;
  const center = around ?? (state.selected >= 0 ? diagram.place(state, state.selected) : (from + to) / 2);
  const fixed = center < from || center > to ? (from + to) / 2 : center;
  const room = (to - from) * factor;
  const left = fixed - (fixed - from) * (room / (to - from));
  setView(left, left + room);
}

const zoomAll = () => setView(-extent() * .01, extent() * 1.01);

/** The end of the story, as far as it can be seen at once. */
function firstView() {
  if (run.violation === null) return zoomAll();
  const rows = [...run.story.keys()].sort((one, other) => one - other);
  const near = rows.slice(-8).filter((row) => row > run.violation - 2500);
  const start = Math.min(near[0] ?? run.violation, run.violation - 150);
  const from = diagram.place(state, Math.max(0, start)), to = diagram.place(state, run.violation);
  const room = Math.max(to - from, 1);
  setView(from - room * .05, to + room * .12);
}

/* Which events there are. */
function listed() {
  const rows = [];
  for (let row = 0; row < run.count; row++) {
    if (!state.isShown(row)) continue;
    if (state.scope === "past" && !run.past[row]) continue;
    if (state.scope === "story" && !run.story.has(row)) continue;
    rows.push(row);
  }
  return rows;
}

function refilter() {
  const query = state.query.toLowerCase();
  matching = null;
  if (query) {
    const found = new Uint8Array(run.count);
    for (let row = 0; row < run.count; row++) {
      const text = `${words(row)} ${run.lanes[run.lane[row]]} ${raw.kinds[run.kind[row]]}`;
      if (text.toLowerCase().includes(query)) found[row] = 1;
    }
    matching = found;
  }
  table.show(listed(), state.scope === "story");
  if (state.selected >= 0) table.select(state.selected, true);
  all("[data-scope]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.scope === state.scope));
  all("[data-class]").forEach((button) => button.setAttribute("aria-pressed", !state.hiddenClasses.has(Number(button.dataset.class))));
  redraw();
}

function relayOut() {
  diagram.layOut(state);
  diagram.resize();
  refilter();
}

function select(row, { center = true, keepFragment = false } = {}) {
  if (row < 0 || row >= run.count) return;
  state.selected = row;
  table.select(row, center);
  const at = diagram.place(state, row), [from, to] = state.view;
  if (at < from || at > to) setView(at - (to - from) / 2, at + (to - from) / 2);
  diagram.reveal(row);
  if (!keepFragment) history.replaceState(null, "", `#${fragmentOf(row)}`);
  redraw();
}

/** The next row of the table, or the one before. */
function stepBy(by) {
  if (table.size() === 0) return;
  const at = table.index(state.selected);
  const isListed = table.at(at) === state.selected;
  const next = state.selected < 0 ? (by > 0 ? 0 : table.size() - 1) : isListed ? at + by : by > 0 ? at : at - 1;
  select(table.at(Math.max(0, Math.min(table.size() - 1, next))), { center: false });
}

function nextFault(by) {
  for (let row = state.selected + by; row >= 0 && row < run.count; row += by) {
    if (run.classOf[row] === CLASS.FAULTS && state.isShown(row)) return select(row);
  }
}

function setScope(scope) {
  if (scope !== "all" && run.violation === null) return;
  state.scope = scope;
  refilter();
}

function setAxis(axis) {
  const [from, to] = state.view;
  const rows = state.axis === "steps"
    ? [Math.round(from), Math.round(to)]
    : [search(run.count, (row) => run.onAxis[row] >= from), search(run.count, (row) => run.onAxis[row] > to)];
  const [first, last] = rows.map((row) => Math.max(0, Math.min(run.count - 1, row)));
  state.axis = axis;
  all("[data-axis]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.axis === axis));
  const start = diagram.place(state, first), end = diagram.place(state, last);
  const room = Math.max(1, end - start) * .03;
  setView(start - room, end + room);
}

function toggleLane(lane, alone) {
  const hidden = state.hiddenLanes;
  if (!alone) {
    if (hidden.has(lane)) hidden.delete(lane); else hidden.add(lane);
  } else if (hidden.size === run.lanes.length - 1 && !hidden.has(lane)) hidden.clear();
  else {
    hidden.clear();
    run.lanes.forEach((_, other) => { if (other !== lane) hidden.add(other); });
  }
  relayOut();
}

function clearFilters() {
  state.hiddenLanes.clear();
  state.hiddenClasses.clear();
  state.query = document.querySelector("#search input").value = "";
  relayOut();
}

function setTab(tab) {
  document.body.dataset.tab = tab;
  all("[role=tab]").forEach((button) => button.setAttribute("aria-selected", button.dataset.tab === tab));
  if (tab === "picture") fit();
}

function fit() {
  diagram.resize();
  overview.resize();
  table.render(true);
  redraw();
}

/* Light and dark. */
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  diagram.readColours();
  drawLegend();
  redraw();
}
const followTheme = () => setTheme(chosenTheme ?? (prefersDark.matches ? "dark" : "light"));
function toggleTheme() {
  chosenTheme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  followTheme();
}
prefersDark.addEventListener("change", followTheme);

function drawLegend() {
  const colours = diagram.colours();
  const bar = (name, outline) => (pen) => {
    pen.fillStyle = colours[name]; pen.fillRect(4, 3, 32, 10);
    if (outline) { pen.strokeStyle = colours[outline]; pen.strokeRect(4.5, 3.5, 31, 9); }
  };
  const turn = (name, kind) => (pen) => sign(pen, name, kind, 20, 8, colours);
  const signs = [
    ["the violation", (pen) => { pen.fillStyle = colours.failed; pen.beginPath(); pen.arc(20, 8, 7, 0, 7); pen.fill(); }],
    ["a number: of the events to read first", (pen) => { pen.strokeStyle = colours.ink; pen.beginPath(); pen.arc(20, 8, 6.5, 0, 7); pen.stroke(); pen.fillStyle = colours.ink; pen.font = "9px sans-serif"; pen.fillText("1", 17.5, 11); }],
    ["faint: can't have influenced the violation", (pen) => { pen.globalAlpha = .3; pen.fillStyle = colours.classes[4]; for (let x = 8; x < 34; x += 6) pen.fillRect(x, 4, 2, 8); }],
    ["a fault that fired", turn("fault", CLASS.FAULTS)], ["killed, or died with the machine", turn("killed", CLASS.LIVES)],
    ["started, restarted", turn("restarted", CLASS.LIVES)], ["ended by itself", turn("exited", CLASS.LIVES)],
    ["a message; lost", (pen) => { pen.strokeStyle = pen.fillStyle = colours.classes[CLASS.MESSAGES]; line(pen, 3, 12, 20, 4); head(pen, 3, 12, 20, 4); pen.strokeStyle = colours.classes[CLASS.FAULTS]; line(pen, 26, 3, 31, 9); line(pen, 29, 11, 34, 6); line(pen, 29, 6, 34, 11); }],
    ["an operation of the plan", bar("operation")], ["holds a lock", bar("hold")],
    ["waits for a lock", (pen) => { pen.strokeStyle = colours.wait; pen.strokeRect(4.5, 3.5, 31, 9); for (let x = 6; x < 30; x += 5) line(pen, x, 12, x + 7, 4); }],
    ["in a transaction that writes", bar("transaction")], ["checkpoints a database", bar("checkpoint", "transaction")],
    ["stopped (SIGSTOP)", (pen) => { pen.strokeStyle = colours.pause; for (let x = 4; x < 32; x += 5) line(pen, x, 13, x + 8, 3); }],
    ["is up", bar("life")],
  ];
  const list = document.getElementById("legend");
  list.replaceChildren();
  for (const [meaning, paint] of signs) {
    const term = document.createElement("dt"), what = document.createElement("dd"), canvas = document.createElement("canvas");
    canvas.width = 80; canvas.height = 32;
    const pen = canvas.getContext("2d");
    pen.scale(2, 2);
    paint(pen);
    term.append(canvas);
    what.textContent = meaning;
    list.append(term, what);
  }
  all("#classes i").forEach((dot, kind) => { dot.style.background = colours.classes[kind]; });
}
