// The table of events beside the diagram, of which only the rows in view exist, and the details of the selected one.

const table = (() => {
  const frame = document.getElementById("table");
  const spacer = document.getElementById("spacer");
  const body = document.getElementById("rows");
  const detail = document.getElementById("detail");
  const count = document.getElementById("count");
  let list = [], height = 22, isStory = false, first = -1, last = -1, selected = -1;

  /** One row of the table. */
  function element(row) {
    const cells = document.createElement("div");
    const number = run.story.get(row);
    cells.className = "row";
    cells.classList.toggle("tall", isStory);
    cells.classList.toggle("selected", row === selected);
    cells.classList.toggle("violates", row === run.violation);
    cells.classList.toggle("outside", !isStory && run.violation !== null && !run.past[row]);
    cells.dataset.row = row;
    cells.setAttribute("role", "row");
    const text = words(row);
    const add = (name, content, colour) => {
      const cell = document.createElement("span");
      cell.className = name;
      cell.textContent = content;
      if (colour) cell.style.color = colour;
      cells.append(cell);
    };
    add("number", number ?? "");
    add("step", grouped(run.steps[row]));
    add("process", run.lanes[run.lane[row]]);
    add("words", text, `var(${CLASS_COLOURS[run.classOf[row]]})`);
    cells.title = text;
    return cells;
  }

  function render(force) {
    const from = Math.max(0, Math.floor(frame.scrollTop / height) - 8);
    const to = Math.min(list.length, Math.ceil((frame.scrollTop + frame.clientHeight) / height) + 8);
    if (!force && from === first && to === last) return;
    first = from; last = to;
    const rows = [];
    for (let i = from; i < to; i++) rows.push(element(list[i]));
    body.style.transform = `translateY(${from * height}px)`;
    body.replaceChildren(...rows);
  }

  function show(rows, story) {
    list = rows;
    isStory = story;
    height = story ? 38 : 22;
    spacer.style.height = `${list.length * height}px`;
    const hidden = run.count - list.length;
    const shown = hidden === 0 ? `${grouped(run.count)} events` : `${grouped(list.length)} of ${grouped(run.count)} events`;
    count.textContent = raw.omitted > 0 ? `${shown}; the ${grouped(raw.omitted)} before are left out` : shown;
    render(true);
  }

  /** Where a row is in the list, or would be. */
  const index = (row) => search(list.length, (i) => list[i] >= row);

  function select(row, center) {
    selected = row;
    // First, since its height decides how much room is left for the table.
    describe(row);
    const at = index(row);
    const top = at * height, room = frame.clientHeight;
    if (top < frame.scrollTop || top + height > frame.scrollTop + room) {
      frame.scrollTop = center ? top - room / 2 : top < frame.scrollTop ? top : top + height - room;
    }
    render(true);
  }

  /** What is known of the selected event. */
  function describe(row) {
    detail.replaceChildren();
    if (row < 0) return;
    const lane = run.lane[row];
    const head = document.createElement("div");
    head.innerHTML = "<b></b> · step <b></b> · <span></span>";
    const [process, step] = head.querySelectorAll("b");
    process.textContent = run.lanes[lane];
    step.textContent = grouped(run.steps[row]);
    head.querySelector("span").textContent = moment(run.times[row]);
    const text = document.createElement("div");
    text.className = "words";
    text.textContent = words(row);
    const facts = document.createElement("dl");
    const fact = (name, value) => {
      const term = document.createElement("dt"), what = document.createElement("dd");
      term.textContent = name;
      what.append(value);
      facts.append(term, what);
    };
    if (run.violation !== null) {
      fact("causal past", row === run.violation ? "the violation itself" : run.past[row] ? "yes: it may have influenced the violation" : "no: it can't have influenced the violation");
    }
    const peer = peers.get(row);
    if (peer !== undefined) {
      const link = document.createElement("a");
      link.href = `#${fragmentOf(peer)}`;
      link.textContent = `${run.lanes[run.lane[peer]]}, step ${grouped(run.steps[peer])}`;
      fact(peer > row ? "received by" : "sent by", link);
    }
    // What ends with this event is over; what lasts to the end of the run is not.
    const lasts = (bar) => row < bar.to || (bar.to >= run.count - 1 && bar.kind !== BAR.WAIT);
    const around = bars[lane].filter((bar) => bar.from <= row && lasts(bar));
    const of = (kind) => around.filter((bar) => bar.kind === kind).map((bar) => bar.label);
    const told = [["in", BAR.LIFE], ["operation", BAR.OPERATION], ["holds", BAR.HOLD], ["waits for", BAR.WAIT], ["writes", BAR.TRANSACTION], ["checkpoints", BAR.CHECKPOINT]];
    for (const [name, kind] of told) {
      if (of(kind).length > 0) fact(name, [...new Set(of(kind))].join(", "));
    }
    detail.append(head, text, facts);
  }

  frame.addEventListener("scroll", () => render(false), { passive: true });
  return { show, select, render, index, frame, at: (i) => list[i], size: () => list.length, height: () => height };
})();

/** The fragment that points at a row: its step, and which event of the step it is unless that is the one that one would look for. */
function fragmentOf(row) {
  const step = run.steps[row];
  if (rowOfStep(step) === row) return `step=${step}`;
  return `step=${step}.${row - search(run.count, (i) => run.steps[i] >= step) + 1}`;
}

/** The row that one looks for at a step: the violation's, or the first. */
function rowOfStep(step) {
  if (run.violation !== null && run.steps[run.violation] === step) return run.violation;
  return Math.min(run.count - 1, search(run.count, (i) => run.steps[i] >= step));
}

/** The row that a fragment points at, or −1. */
function rowOfFragment(fragment) {
  const found = /^#?step=(\d+)(?:\.(\d+))?$/.exec(fragment);
  if (!found || run.count === 0) return -1;
  const step = Number(found[1]);
  if (!found[2]) return rowOfStep(step);
  const row = search(run.count, (i) => run.steps[i] >= step) + Number(found[2]) - 1;
  return row < run.count && run.steps[row] === step ? row : rowOfStep(step);
}
