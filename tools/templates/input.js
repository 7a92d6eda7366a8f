// Hands: mouse, keys, fragment, paper. Each calls what page.js offers; then the page begins.

function listen() {
  all("[data-scope]").forEach((button) => button.addEventListener("click", () => setScope(button.dataset.scope)));
  all("[data-axis]").forEach((button) => button.addEventListener("click", () => setAxis(button.dataset.axis)));
  all("[role=tab]").forEach((button) => button.addEventListener("click", () => setTab(button.dataset.tab)));
  document.getElementById("zoom-in").addEventListener("click", () => zoom(.5));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(2));
  document.getElementById("zoom-all").addEventListener("click", zoomAll);
  document.getElementById("theme").addEventListener("click", toggleTheme);
  document.getElementById("help-button").addEventListener("click", () => document.getElementById("help").showModal());
  document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", () => copy(button)));
  document.getElementById("plan-link")?.addEventListener("click", (event) => { event.preventDefault(); setTab("numbers"); document.getElementById("plan")?.scrollIntoView(); });
  document.getElementById("save-plan")?.addEventListener("click", savePlan);

  const chips = document.getElementById("classes");
  raw.classes.forEach((name, kind) => {
    const chip = document.createElement("button");
    chip.dataset.class = kind;
    chip.title = "Show or hide; with ⇧: these alone";
    chip.append(document.createElement("i"), name);
    chip.addEventListener("click", (event) => toggleClass(kind, event.shiftKey));
    chips.append(chip);
  });

  diagram.laneList.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) toggleLane(Number(button.dataset.lane), !event.shiftKey);
  });
  table.frame.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) select(Number(row.dataset.row), { center: false });
  });

  let typing = 0;
  document.querySelector("#search input").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      state.query = event.target.value.trim();
      // Whoever looks for something looks everywhere.
      if (state.query && state.scope === "story") state.scope = "all";
      refilter();
    }, 120);
  });
  listenToMouse(diagram.canvas);
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", () => {
    const row = rowOfFragment(location.hash);
    if (row >= 0) { setTab("picture"); select(row, { keepFragment: true }); }
  });
  addEventListener("resize", fit);
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
}

function toggleClass(kind, alone) {
  const hidden = state.hiddenClasses;
  if (alone) {
    hidden.clear();
    raw.classes.forEach((_, other) => { if (other !== kind) hidden.add(other); });
  } else if (hidden.has(kind)) hidden.delete(kind); else hidden.add(kind);
  refilter();
}

function listenToMouse(canvas) {
  let start = null;
  canvas.addEventListener("pointerdown", (event) => {
    start = { x: event.clientX, view: state.view, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!start) {
      const row = diagram.rowAt(state, event.offsetX, event.offsetY);
      canvas.title = row < 0 ? "" : `${run.lanes[run.lane[row]]}, step ${grouped(run.steps[row])}, ${moment(run.times[row])}\n${words(row)}`;
      return;
    }
    const by = event.clientX - start.x;
    if (Math.abs(by) > 3) start.moved = true;
    if (start.moved) {
      const perPixel = (start.view[1] - start.view[0]) / diagram.width();
      setView(start.view[0] - by * perPixel, start.view[1] - by * perPixel);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (start && !start.moved) {
      const row = diagram.rowAt(state, event.offsetX, event.offsetY);
      if (row >= 0) select(row);
    }
    start = null;
  });
  canvas.addEventListener("wheel", (event) => {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / diagram.width()) * (state.view[1] - state.view[0]);
      setView(state.view[0] + by, state.view[1] + by);
    } else {
      const at = state.view[0] + (event.offsetX / diagram.width()) * (state.view[1] - state.view[0]);
      zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), at);
    }
    event.preventDefault();
  }, { passive: false });
}

function onKey(event) {
  const field = document.querySelector("#search input");
  if (event.key === "Escape") {
    if (document.getElementById("help").open) return;
    field.blur();
    clearFilters();
    return;
  }
  if (event.target === field || event.ctrlKey || event.metaKey || event.altKey) return;
  const room = state.view[1] - state.view[0];
  const keys = {
    ArrowLeft: () => (event.shiftKey ? setView(state.view[0] - room * .2, state.view[1] - room * .2) : stepBy(-1)),
    ArrowRight: () => (event.shiftKey ? setView(state.view[0] + room * .2, state.view[1] + room * .2) : stepBy(1)),
    ArrowUp: () => stepBy(-1),
    ArrowDown: () => stepBy(1),
    "+": () => zoom(.5), "=": () => zoom(.5), "-": () => zoom(2), 0: zoomAll,
    v: () => run.violation !== null && select(run.violation),
    n: () => nextFault(1), p: () => nextFault(-1),
    1: () => setScope("story"), 2: () => setScope("past"), 3: () => setScope("all"),
    x: () => setAxis(state.axis === "steps" ? "time" : "steps"),
    t: toggleTheme,
    "/": () => field.focus(),
    "?": () => document.getElementById("help").showModal(),
  };
  const act = keys[event.key];
  if (!act || document.getElementById("help").open) return;
  event.preventDefault();
  act();
}

async function copy(button) {
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // A page that was opened as a file may not be allowed to: the old way.
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function savePlan() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([document.querySelector("#plan pre").textContent], { type: "application/toml" }));
  link.download = "plan.toml";
  link.click();
  URL.revokeObjectURL(link.href);
}

/* On paper (A4, landscape): light, as wide as the page, no higher than one, and the events to read first in words. */
const PAPER = { width: 1030, height: 660 };
function beforePrint() {
  document.documentElement.dataset.theme = "light";
  diagram.readColours();
  diagram.resize(PAPER.width);
  document.getElementById("stage").style.zoom = Math.min(1, PAPER.height / (diagram.height() + 22));
  diagram.draw(state);
  overview.draw();
  const rows = run.violation === null ? [] : [...run.story.keys()].sort((one, other) => one - other);
  document.getElementById("printed").replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    for (const text of [run.story.get(row), grouped(run.steps[row]), run.lanes[run.lane[row]], words(row)]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  }));
}

function afterPrint() {
  document.getElementById("stage").style.zoom = "";
  followTheme();
  fit();
}

function begin() {
  state.criticalRows = raw.critical_steps.map(rowOfStep).filter((row) => row >= 0 && run.count > 0);
  listen();
  followTheme();
  diagram.layOut(state);
  diagram.resize();
  overview.resize();
  firstView();
  all("[data-axis]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.axis === state.axis));
  refilter();
  const row = rowOfFragment(location.hash);
  const chosen = row >= 0 ? row : run.violation ?? -1;
  if (chosen >= 0) select(chosen, { keepFragment: row >= 0 || location.hash === "" });
  diagram.draw(state);
  overview.draw();
  document.documentElement.dataset.ready = Math.round(performance.now());
}

begin();
