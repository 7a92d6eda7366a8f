// The space-time diagram: a lane a process, time to the right, drawn on a canvas. What is shown is decided in page.js.

const diagram = (() => {
  const scroller = document.getElementById("scroller");
  const canvas = document.getElementById("canvas");
  const ruler = document.getElementById("ruler");
  const laneList = document.getElementById("lanes");
  const pen = canvas.getContext("2d");
  const rulerPen = ruler.getContext("2d");
  const LANES_WIDTH = 104;
  const EVENTS_Y = 19, LEVELS_Y = 27, LEVEL = 11, FOOT = 3;
  const FONT = '9.5px system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';
  const ARROWS_MAX = 4000;
  let width = 0, height = 0, colours = {}, tops = [], heights = [];

  // So many levels of locks and transactions a lane has.
  const levels = bars.map((list) => list.reduce((most, bar) => Math.max(most, bar.level), 0));

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "panel", "line", "ink", "quiet", "failed", "select", "life", "operation", "operation-ink", "hold", "hold-ink",
      "wait", "transaction", "transaction-ink", "checkpoint", "pause", "accent"];
    colours = {};
    for (const name of names) colours[name] = style.getPropertyValue(`--${name}`).trim();
    colours.classes = CLASS_COLOURS.map((name) => style.getPropertyValue(name).trim());
  }

  /** Rows of lanes: those of hidden processes are low. */
  function layOut(state) {
    let y = 0;
    tops = []; heights = [];
    run.lanes.forEach((_, lane) => {
      const full = LEVELS_Y + levels[lane] * LEVEL + FOOT;
      const own = state.hiddenLanes.has(lane) ? 18 : full;
      tops.push(y); heights.push(own);
      y += own;
    });
    height = y;
    laneList.replaceChildren(...run.lanes.map((name, lane) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.style.height = `${heights[lane]}px`;
      button.dataset.lane = lane;
      button.title = "Show this process alone, or all (with ⇧: hide it)";
      button.classList.toggle("hidden", state.hiddenLanes.has(lane));
      button.classList.toggle("shows", run.violation !== null && run.lane[run.violation] === lane);
      return button;
    }));
  }

  function size(element, context, w, h) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    element.width = Math.round(w * ratio);
    element.height = Math.round(h * ratio);
    element.style.width = `${w}px`;
    element.style.height = `${h}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  function resize(printWidth) {
    width = Math.max(200, (printWidth || scroller.clientWidth) - LANES_WIDTH);
    size(canvas, pen, width, height);
    size(ruler, rulerPen, width + LANES_WIDTH, 22);
  }

  const positions = (state) => (state.axis === "steps" ? null : run.onAxis);
  /** Where a row is on the axis. */
  const place = (state, row) => (state.axis === "steps" ? row : run.onAxis[Math.min(row, run.count - 1)]);
  const toX = (state, position) => ((position - state.view[0]) / (state.view[1] - state.view[0])) * width;

  /** Rows from the first to one beyond the last that are in view. */
  function rowsInView(state) {
    const on = positions(state);
    const [from, to] = state.view;
    if (!on) return [Math.max(0, Math.floor(from)), Math.min(run.count, Math.ceil(to) + 1)];
    return [search(run.count, (row) => on[row] >= from), search(run.count, (row) => on[row] > to)];
  }

  function label(text, x, y, room, colour) {
    if (room < 16) return;
    pen.fillStyle = colour;
    let shown = text;
    if (pen.measureText(shown).width > room) {
      let keep = Math.max(1, Math.floor(shown.length * room / pen.measureText(shown).width) - 1);
      shown = keep < 3 ? "" : `${shown.slice(0, keep)}…`;
    }
    if (shown) pen.fillText(shown, x, y);
  }

  function box(x, y, w, h, colour, outline) {
    pen.fillStyle = colour;
    pen.fillRect(x, y, w, h);
    if (outline && w > 3) {
      pen.strokeStyle = outline;
      pen.lineWidth = 1;
      pen.strokeRect(x + .5, y + .5, w - 1, h - 1);
    }
  }

  function hatch(x, y, w, h, colour) {
    pen.save();
    pen.beginPath(); pen.rect(x, y, w, h); pen.clip();
    pen.strokeStyle = colour; pen.lineWidth = 1.3;
    pen.beginPath();
    const first = Math.max(-h, Math.floor(-x / 5) * 5 - h);
    for (let at = x + first; at < Math.min(x + w, width) + h; at += 5) {
      pen.moveTo(at, y + h); pen.lineTo(at + h, y);
    }
    pen.stroke();
    pen.restore();
    pen.strokeStyle = colour; pen.lineWidth = 1;
    if (w > 2) pen.strokeRect(x + .5, y + .5, w - 1, h - 1);
  }

  function drawBars(state, lane) {
    const top = tops[lane];
    if (state.hiddenLanes.has(lane)) return;
    for (const bar of bars[lane]) {
      const from = place(state, bar.from), to = place(state, bar.to);
      if (to < state.view[0] || from > state.view[1]) continue;
      const x = Math.max(-4, toX(state, from));
      const w = Math.max(1, Math.min(width + 4, toX(state, to)) - x);
      const textX = Math.max(2, x + 3), room = x + w - textX - 2;
      const y = top + LEVELS_Y + (bar.level - 1) * LEVEL;
      switch (bar.kind) {
        case BAR.LIFE: box(x, top + 2, w, heights[lane] - 4, colours.life); break;
        case BAR.OPERATION:
          box(x, top + 3, Math.max(1, w - 1), 12, colours.operation);
          label(bar.label, textX, top + 9.5, room, colours["operation-ink"]);
          break;
        case BAR.PAUSE: hatch(x, top + 3, w, heights[lane] - 6, colours.pause); break;
        case BAR.WAIT:
          hatch(x, y, w, LEVEL - 1, colours.wait);
          if (room > 70) {
            const text = `waits for ${bar.label}`;
            pen.fillStyle = colours.life;
            pen.fillRect(textX, y + 1, Math.min(room, pen.measureText(text).width) + 2, LEVEL - 3);
            label(text, textX + 1, y + 5.5, room, colours.ink);
          }
          break;
        case BAR.HOLD:
          box(x, y, w, LEVEL - 1, colours.hold);
          label(bar.label, textX, y + 5.5, room, colours["hold-ink"]);
          break;
        case BAR.TRANSACTION:
          box(x, y, w, LEVEL - 1, colours.transaction);
          label(`writes ${bar.label}`, textX, y + 5.5, room, colours["transaction-ink"]);
          break;
        case BAR.CHECKPOINT:
          box(x, y, w, LEVEL - 1, colours.checkpoint, colours.transaction);
          label(`checkpoint ${bar.label}`, textX, y + 5.5, room, colours["transaction-ink"]);
          break;
      }
    }
  }

  function drawEvents(state, from, to) {
    const on = positions(state);
    const scale = width / (state.view[1] - state.view[0]);
    const thin = Math.max(1, Math.min(3, scale * .6));
    const hasPast = run.violation !== null;
    // Of events that fall on one point, one is drawn: the brightest class of them.
    const seen = run.lanes.map(() => -1);
    for (let row = from; row < to; row++) {
      const lane = run.lane[row];
      if (!state.isShown(row)) continue;
      const x = ((on ? on[row] : row) - state.view[0]) * scale;
      const point = Math.round(x * 2);
      const kind = run.classOf[row];
      if (kind === CLASS.FAULTS || kind === CLASS.LIVES) continue;
      if (seen[lane] === point && kind === CLASS.TASKS) continue;
      seen[lane] = point;
      pen.globalAlpha = hasPast && !run.past[row] ? .3 : 1;
      pen.fillStyle = colours.classes[kind];
      pen.fillRect(x - thin / 2, tops[lane] + EVENTS_Y - 3, thin, 7);
    }
    pen.globalAlpha = 1;
  }

  const TURNS = new Set(["killed", "crashed", "exited", "restarted", "started", "paused", "power-lost", "machine-started", "calm-began"]);

  /** Faults, deaths and starts: above everything else. */
  function drawTurns(state, from, to) {
    const on = positions(state);
    for (let row = from; row < to; row++) {
      const kind = run.classOf[row];
      if (kind !== CLASS.FAULTS && kind !== CLASS.LIVES) continue;
      if (!state.isShown(row)) continue;
      const name = raw.kinds[run.kind[row]];
      if (kind === CLASS.LIVES && !TURNS.has(name)) continue;
      const x = toX(state, on ? on[row] : row), y = tops[run.lane[row]] + EVENTS_Y + .5;
      pen.globalAlpha = run.violation !== null && !run.past[row] ? .5 : 1;
      sign(pen, name, kind, x, y, colours);
      if (name === "power-lost") {
        pen.strokeStyle = colours.classes[CLASS.FAULTS]; pen.lineWidth = 1.5; pen.setLineDash([2, 3]);
        line(pen, x, 0, x, height);
        pen.setLineDash([]);
      }
    }
    pen.globalAlpha = 1;
  }

  function drawArrows(state, from, to) {
    let drawn = 0;
    const first = search(arrows.length, (i) => arrowsReach[i] >= from);
    for (let i = first; i < arrows.length && arrows[i].from < to; i++) {
      const arrow = arrows[i];
      const arrived = arrow.to >= 0;
      if (Math.max(arrow.to, arrow.from) < from) continue;
      if (!state.isShown(arrow.from) && !(arrived && state.isShown(arrow.to))) continue;
      if (++drawn > ARROWS_MAX) break;
      const x = toX(state, place(state, arrow.from)), y = tops[run.lane[arrow.from]] + EVENTS_Y;
      const hasPast = run.violation === null || run.past[arrived ? arrow.to : arrow.from];
      const isNear = state.selected === arrow.from || state.selected === arrow.to;
      pen.strokeStyle = pen.fillStyle = colours.classes[arrived ? CLASS.MESSAGES : CLASS.FAULTS];
      pen.lineWidth = isNear ? 2.2 : 1;
      pen.globalAlpha = isNear ? 1 : hasPast ? .75 : .25;
      if (!arrived) {
        line(pen, x, y, x + 8, y + 9);
        line(pen, x + 5.5, y + 11.5, x + 10.5, y + 6.5);
        line(pen, x + 5.5, y + 6.5, x + 10.5, y + 11.5);
        continue;
      }
      const endX = toX(state, place(state, arrow.to)), endY = tops[run.lane[arrow.to]] + EVENTS_Y;
      line(pen, x, y, endX, endY);
      head(pen, x, y, endX, endY);
    }
    pen.globalAlpha = 1;
  }

  /** Numbers of the story, and the violation. */
  function drawStory(state, from, to) {
    const taken = [];
    pen.textAlign = "center"; pen.textBaseline = "middle";
    const shown = [...run.story].filter(([row]) => row >= from && row < to).reverse();
    for (const [row, number] of shown) {
      const x = toX(state, place(state, row)), y = tops[run.lane[row]] + EVENTS_Y + .5;
      const isViolation = row === run.violation;
      if (!isViolation && taken.some(([tx, ty]) => Math.abs(tx - x) < 13 && Math.abs(ty - y) < 13)) continue;
      taken.push([x, y]);
      pen.beginPath(); pen.arc(x, y, isViolation ? 8.5 : 7, 0, 7);
      pen.fillStyle = isViolation ? colours.failed : colours.paper; pen.fill();
      pen.strokeStyle = isViolation ? colours.failed : colours.ink; pen.lineWidth = 1.2; pen.stroke();
      pen.fillStyle = isViolation ? colours.paper : colours.ink;
      pen.font = `${isViolation ? "bold " : ""}${number > 9 ? 8.5 : 9.5}px system-ui, "Noto Sans", "DejaVu Sans", sans-serif`;
      pen.fillText(number, x, y + .5);
    }
    pen.textAlign = "left"; pen.font = FONT;
  }

  function drawGrid() {
    pen.strokeStyle = colours.line; pen.lineWidth = 1;
    run.lanes.forEach((_, lane) => line(pen, 0, tops[lane] + heights[lane] - .5, width, tops[lane] + heights[lane] - .5));
  }

  function vertical(state, row, colour, dashed) {
    const x = toX(state, place(state, row));
    if (x < -1 || x > width + 1) return;
    pen.strokeStyle = colour; pen.lineWidth = 1.5;
    if (dashed) pen.setLineDash([4, 3]);
    line(pen, x, 0, x, height);
    pen.setLineDash([]);
  }

  function drawRuler(state, from, to) {
    rulerPen.fillStyle = colours.panel;
    rulerPen.fillRect(0, 0, width + LANES_WIDTH, 22);
    rulerPen.fillStyle = colours.quiet; rulerPen.strokeStyle = colours.line; rulerPen.lineWidth = 1;
    rulerPen.font = '10.5px system-ui, "Noto Sans", "DejaVu Sans", sans-serif';
    rulerPen.textBaseline = "middle"; rulerPen.textAlign = "left";
    rulerPen.fillText(state.axis === "steps" ? "step" : "time", 16, 11);
    const [low, high] = state.view;
    const isBySteps = state.axis === "steps";
    const ends = isBySteps ? [run.steps[from] ?? 0, run.steps[Math.max(0, to - 1)] ?? 0] : [low, high];
    const every = roundStep((ends[1] - ends[0]) / Math.max(2, width / 96));
    const stop = run.violation !== null ? toX(state, place(state, run.violation)) : -100;
    for (let at = Math.ceil(ends[0] / every) * every; at <= ends[1]; at += every) {
      const x = LANES_WIDTH + toX(state, isBySteps ? search(run.count, (row) => run.steps[row] >= at) : at);
      const text = isBySteps ? grouped(at) : duration(at, 6);
      rulerPen.beginPath(); rulerPen.moveTo(x + .5, 15); rulerPen.lineTo(x + .5, 22); rulerPen.stroke();
      if (x < LANES_WIDTH - 1 || (stop > -90 && Math.abs(x - LANES_WIDTH - Math.min(stop, width - 106)) < 60)) continue;
      rulerPen.fillText(text, x + 4, 11);
    }
    for (const row of state.criticalRows) {
      const x = toX(state, place(state, row));
      if (x < 0 || x > width || Math.abs(x - Math.min(stop, width - 106)) < 130) continue;
      rulerPen.fillStyle = colours.panel;
      rulerPen.fillRect(LANES_WIDTH + x + 1, 0, 96, 21);
      rulerPen.fillStyle = colours.accent;
      rulerPen.font = 'bold 10.5px system-ui, "Noto Sans", "DejaVu Sans", sans-serif';
      rulerPen.fillText(`decided at ${grouped(run.steps[row])}`, LANES_WIDTH + x + 4, 11);
    }
    if (stop >= 0 && stop <= width + 1) {
      const text = `violated at ${grouped(run.steps[run.violation])}`;
      rulerPen.font = 'bold 10.5px system-ui, "Noto Sans", "DejaVu Sans", sans-serif';
      const room = rulerPen.measureText(text).width;
      const x = LANES_WIDTH + Math.min(stop + 4, width - room - 4);
      rulerPen.fillStyle = colours.failed;
      rulerPen.fillText(text, x, 11);
    }
  }

  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
    const size = least / power;
    return Math.max(1, (size <= 1 ? 1 : size <= 2 ? 2 : size <= 5 ? 5 : 10) * power);
  }

  function draw(state) {
    const [from, to] = rowsInView(state);
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, height);
    pen.font = FONT; pen.textBaseline = "middle"; pen.textAlign = "left";
    run.lanes.forEach((_, lane) => drawBars(state, lane));
    drawGrid();
    if (run.violation !== null) vertical(state, run.violation, colours.failed, false);
    drawEvents(state, from, to);
    drawArrows(state, from, to);
    drawTurns(state, from, to);
    drawStory(state, from, to);
    for (const step of state.criticalRows) vertical(state, step, colours.accent, true);
    if (state.selected >= 0) {
      vertical(state, state.selected, colours.ink, true);
      const x = toX(state, place(state, state.selected)), y = tops[run.lane[state.selected]] + EVENTS_Y + .5;
      pen.strokeStyle = colours.ink; pen.lineWidth = 2;
      pen.beginPath(); pen.arc(x, y, 10.5, 0, 7); pen.stroke();
    }
    drawRuler(state, from, to);
  }

  /** The row nearest to a point of the canvas, if one is near. */
  function rowAt(state, x, y) {
    const lane = tops.findIndex((top, index) => y >= top && y < top + heights[index]);
    const [from, to] = rowsInView(state);
    let best = -1, distance = 14;
    for (let row = from; row < to; row++) {
      if (run.lane[row] !== lane || !state.isShown(row)) continue;
      const off = Math.abs(toX(state, place(state, row)) - x) - (run.story.has(row) ? 4 : 0);
      if (off < distance) { distance = off; best = row; }
    }
    return best;
  }

  /** Scrolls so that a row's lane is seen. */
  function reveal(row) {
    const top = tops[run.lane[row]], bottom = top + heights[run.lane[row]];
    const isSeen = top >= scroller.scrollTop && bottom <= scroller.scrollTop + scroller.clientHeight;
    if (!isSeen) scroller.scrollTop = (top + bottom - scroller.clientHeight) / 2;
  }

  return { canvas, scroller, laneList, draw, layOut, resize, readColours, rowAt, place, reveal, toX, width: () => width, height: () => height, colours: () => colours };
})();

function line(pen, x, y, endX, endY) {
  pen.beginPath(); pen.moveTo(x, y); pen.lineTo(endX, endY); pen.stroke();
}

function head(pen, x, y, endX, endY) {
  const angle = Math.atan2(endY - y, endX - x);
  pen.beginPath();
  pen.moveTo(endX, endY);
  pen.lineTo(endX - 7 * Math.cos(angle - .4), endY - 7 * Math.sin(angle - .4));
  pen.lineTo(endX - 7 * Math.cos(angle + .4), endY - 7 * Math.sin(angle + .4));
  pen.fill();
}

/** The sign of a fault, a death or a start. */
function sign(pen, name, kind, x, y, colours) {
  pen.lineWidth = 2;
  const colour = colours.classes[kind];
  pen.strokeStyle = pen.fillStyle = colour;
  if (name === "killed" || name === "crashed") {
    pen.strokeStyle = colours.classes[CLASS.FAULTS];
    line(pen, x - 4, y - 4, x + 4, y + 4);
    line(pen, x - 4, y + 4, x + 4, y - 4);
  } else if (name === "exited") {
    pen.fillRect(x - 1, y - 5, 3, 10);
  } else if (name === "started" || name === "restarted" || name === "machine-started") {
    pen.beginPath(); pen.moveTo(x, y - 5); pen.lineTo(x + 7, y); pen.lineTo(x, y + 5); pen.closePath();
    if (name === "restarted") { pen.fill(); } else { pen.lineWidth = 1.4; pen.stroke(); }
  } else if (name === "paused") {
    pen.fillRect(x - 3, y - 4, 2, 8); pen.fillRect(x + 1, y - 4, 2, 8);
  } else if (name === "calm-began") {
    pen.beginPath(); pen.arc(x, y, 4, 0, 7); pen.lineWidth = 1.4; pen.stroke();
  } else {
    // A fault: a bolt.
    pen.beginPath();
    pen.moveTo(x + 2, y - 7); pen.lineTo(x - 4, y + 1); pen.lineTo(x - .5, y + 1); pen.lineTo(x - 2, y + 7); pen.lineTo(x + 4, y - 1); pen.lineTo(x + .5, y - 1);
    pen.closePath(); pen.fill();
  }
}
