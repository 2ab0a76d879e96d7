// What each promise was expected to earn, and earned, against its floor over time: one small chart for each.

import { Table, byId, drawn, isolated, made, named, show, write } from "./dom.js";
import { clock, count, isNumber, number } from "./format.js";

const MOST_POINTS = 400; // more are thinned out, the older ones first
const WIDTH = 340, HEIGHT = 140, LEFT = 36, RIGHT = 6, TOP = 8, BOTTOM = 18;
const WINDOWS = 24; // in which what was earned is shown
const FEWEST = 20; // decisions in such a window: an average of fewer says nothing
const FIRST = 12; // charts that are shown until all are asked for
const TABLE_ROWS = 12;

const place = (value, low, high, from, to) => from + ((value - low) / (high - low)) * (to - from);

// Where a group of points that follow each other has numbers, as lists without gaps.
function runs(points, has) {
  const found = [[]];
  for (const point of points) {
    if (has(point)) found.at(-1).push(point);
    else if (found.at(-1).length) found.push([]);
  }
  return found.filter((run) => run.length > 0);
}

// The average of what arrived for each decision made meanwhile, by windows of the same length.
function earned(points) {
  if (points.length < 2) return [];
  const began = points[0].time, length = (points.at(-1).time - began) / WINDOWS;
  const found = [];
  let from = points[0];
  for (const point of points.slice(1)) {
    const isOver = point.time - from.time >= length * 0.999 && point.decisions - from.decisions >= FEWEST;
    if (!isOver) continue;
    found.push({
      time: (from.time + point.time) / 2,
      value: (point.earned - from.earned) / (point.decisions - from.decisions),
    });
    from = point;
  }
  return found;
}

// Round numbers from the lowest to beyond the highest, about three.
function ticks(low, high) {
  const rough = (high - low) / 2.5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let at = Math.floor(low / step + 1e-9); at * step < high + step * 0.999; at += 1) found.push(at * step);
  return found;
}

class Chart {
  constructor(name) {
    this.name = name;
    this.figures = made("span", { class: "figures" });
    this.floor = made("span", { class: "floor-word" });
    this.drawing = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    this.element = made("figure", { class: "chart" }, made("figcaption", null, named(name),
      made("span", { class: "now" }, this.figures, " ", this.floor)), this.drawing);
  }

  update(points, span) {
    const last = points.at(-1);
    const interval = isNumber(last.low) ? ` (${number(last.low, 3)} to ${number(last.high, 3)})` : "";
    write(this.figures, `${number(last.expected)}${interval}`);
    write(this.floor, last.floor > 0 ? `floor ${number(last.floor)}` : "no floor");
    this.drawing.setAttribute("aria-label", `${isolated(this.name)}: expected ${number(last.expected)}${interval} ` +
      `per decision, floor ${number(last.floor)}.`);
    const realised = earned(points);
    const values = points.flatMap((one) => [one.expected, one.floor, one.high ?? one.expected, one.low ?? one.expected])
      .concat(realised.map((one) => one.value));
    const marks = ticks(Math.min(...values, 0), Math.max(...values, 0) || 1);
    const low = marks[0], high = marks.at(-1);
    const began = points[0].time, ended = Math.max(last.time, began + 1);
    const x = (time) => place(time, began, ended, LEFT, WIDTH - RIGHT).toFixed(1);
    const y = (value) => place(value, low, high, HEIGHT - BOTTOM, TOP).toFixed(1);
    const line = (run, of) => run.map((one, at) => `${at ? "L" : "M"}${x(one.time)} ${y(of(one))}`).join("");
    const bands = runs(points, (one) => isNumber(one.low)).map((run) => drawn("path", { class: "band",
      d: `${line(run, (one) => one.high)}L${line(run.toReversed(), (one) => one.low).slice(1)}Z` }));
    // A floor holds until another is agreed: steps, not slopes.
    const steps = points.map((one, at) => at ? `H${x(one.time)}V${y(one.floor)}` : `M${x(one.time)} ${y(one.floor)}`);
    this.drawing.replaceChildren(
      ...marks.flatMap((mark) => [
        drawn("line", { class: mark === 0 ? "base" : "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(mark), y2: y(mark) }),
        drawn("text", { x: LEFT - 5, y: Number(y(mark)) + 3.5, "text-anchor": "end" }, number(mark, 2)),
      ]),
      ...bands,
      ...realised.map((one) => drawn("circle", { class: "dot", cx: x(one.time), cy: y(one.value), r: 1.8 })),
      drawn("path", { class: "line", d: line(points, (one) => one.expected) }),
      ...(points.some((one) => one.floor > 0) ? [drawn("path", { class: "floor", d: steps.join("") })] : []),
      drawn("circle", { class: "head", cx: x(last.time), cy: y(last.expected), r: 3 }),
      drawn("text", { x: LEFT, y: HEIGHT - 4 }, clock(began, span)),
      drawn("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, clock(last.time, span)),
    );
  }
}

export class Timeline {
  constructor() {
    this.charts = new Map();
    this.points = [];
    this.isWhole = false;
    this.table = new Table(byId("times"), { caption: "Revenue over time", kind: "times" });
    byId("span").addEventListener("change", () => this.draw());
    byId("time-table").addEventListener("toggle", () => this.draw());
    byId("show-all").addEventListener("click", () => { this.isWhole = !this.isWhole; this.draw(); });
  }

  // Begins again with the plans that the store keeps.
  begin(history) {
    this.points = history.points;
    this.draw();
  }

  // Adds the plan in force, unless it is the one that was added last.
  add(plan) {
    if (plan.floors.length === 0) return;
    const last = this.points.at(-1);
    if (last !== undefined && plan.made_at <= last.made_at) return;
    this.points.push({ plan_version: plan.version, made_at: plan.made_at, decisions: plan.decisions,
      rewards: plan.rewards, floors: plan.floors });
    if (this.points.length > MOST_POINTS) {
      const older = this.points.length >> 1;
      this.points = this.points.filter((_, at) => at >= older || at % 2 === 0);
    }
    this.draw();
  }

  draw() {
    if (this.points.length === 0) {
      byId("timeline").replaceChildren(made("p", { class: "quiet" }, "Nothing yet: the first rewards begin the lines."));
      this.charts.clear();
      show(byId("timeline-more"), false);
      return;
    }
    const length = Number(byId("span").value), last = this.points.at(-1);
    const from = length ? last.made_at - length : -Infinity;
    const shown = this.points.filter((point, at) => point.made_at >= from || at === this.points.length - 1);
    const names = last.floors.map((floor) => floor.name);
    const urgent = last.floors.filter((floor) => floor.floor > 0)
      .sort((one, other) => (one.low ?? 0) / one.floor - (other.low ?? 0) / other.floor).map((floor) => floor.name);
    const first = new Set([...urgent, ...names].slice(0, FIRST));
    const chosen = this.isWhole || names.length <= FIRST ? names : names.filter((name) => first.has(name));
    this.#place(chosen, names.length);
    const span = last.made_at - shown[0].made_at;
    for (const name of chosen) {
      const own = shown.flatMap((point) => {
        const floor = point.floors.find((one) => one.name === name);
        return floor ? [{ ...floor, time: point.made_at, decisions: point.decisions }] : [];
      });
      this.charts.get(name).update(own, span);
    }
    if (byId("time-table").open) this.#table(shown, chosen, span);
  }

  #place(chosen, all) {
    const holder = byId("timeline");
    for (const name of chosen) if (!this.charts.has(name)) this.charts.set(name, new Chart(name));
    const wanted = chosen.map((name) => this.charts.get(name).element);
    if (wanted.length !== holder.children.length || wanted.some((one, at) => holder.children[at] !== one)) {
      holder.replaceChildren(...wanted);
    }
    show(byId("timeline-more"), all > FIRST);
    write(byId("show-all"), this.isWhole ? `Show only the ${FIRST} nearest to their floors` : `Show all ${count(all)}`);
  }

  #table(points, names, span) {
    const step = Math.max(1, Math.ceil(points.length / TABLE_ROWS));
    const rows = points.filter((_, at) => (points.length - 1 - at) % step === 0);
    this.table.shape(
      [names, rows.map((row) => row.made_at)],
      [made("th", { scope: "col" }, "plan made at"), ...names.map((name) => made("th", { scope: "col" }, named(name)))],
      rows.map((row) => made("th", { scope: "row" }, clock(row.made_at, span))),
    );
    rows.forEach((row, at) => names.forEach((name, column) => {
      const floor = row.floors.find((one) => one.name === name);
      const interval = isNumber(floor?.low) ? ` (${number(floor.low, 3)}–${number(floor.high, 3)})` : "";
      write(this.table.cells[at][column], floor ? `${number(floor.expected)}${interval} of ${number(floor.floor)}` : "–");
    }));
  }
}
