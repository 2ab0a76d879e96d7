// Floors to try: the service plans with them, one question at a time, and keeps nothing.

import { PLANNER_PATIENCE, ask, campaignPath } from "./api.js";
import { Table, byId, made, named, sentence, show, write } from "./dom.js";
import { isNumber, number, percent, priceOf } from "./format.js";
import { HeatMap } from "./heatmap.js";
import { alarm, costOf } from "./promises.js";

const STEPS = 200; // of a slider, about
const GAP = 60; // milliseconds between two questions
const SETTLED = 900; // milliseconds without a new answer, after which it is read out
const TOLERANCE = 0.05; // part of a floor
const INVITATION = "Move a slider to see what another promise would cost.";

// The nearest of 1, 2, 5, 10, 20, … above.
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= value * (1 - 1e-9));
}

// Whether more of a floor is missing than the service tolerates in one that it calls kept.
const isShort = (floor) => floor.expected < (1 - TOLERANCE) * floor.floor;

class Slider {
  constructor(floor, most, onInput) {
    this.name = floor.name;
    this.unit = round(most / STEPS);
    this.floor = floor.floor;
    this.isMoved = false;
    const id = `floor-${++Slider.count}`;
    this.input = made("input", { id, type: "range", min: 0, step: 1, max: Math.ceil(most / this.unit) });
    this.output = made("output", { for: id });
    this.element = made("div", { class: "slider" }, made("label", { for: id }, named(floor.name)), this.output, this.input);
    this.input.addEventListener("input", () => {
      const value = Number(this.input.value) * this.unit;
      // Back at the place of the floor in force, it is that floor, which may lie between two steps.
      this.isMoved = Math.abs(value - this.floor) >= this.unit / 2;
      this.tell();
      onInput();
    });
    this.reset(floor.floor);
  }

  get value() {
    return this.isMoved ? Number((Number(this.input.value) * this.unit).toPrecision(12)) : this.floor;
  }

  reset(floor) {
    this.floor = floor;
    this.isMoved = false;
    this.input.value = Math.round(floor / this.unit);
    this.tell();
  }

  tell() {
    const now = this.isMoved ? `, now ${number(this.floor)}` : "";
    write(this.output, `${number(this.value)}${now}`);
    this.input.setAttribute("aria-valuetext", `${number(this.value)}${now}`);
    this.element.classList.toggle("moved", this.isMoved);
  }
}
Slider.count = 0;

export class WhatIf {
  constructor(announce) {
    this.announce = announce;
    this.heat = new HeatMap(byId("whatif-shares"), "Allocation with the floors that are tried, in percent");
    this.prices = new Table(byId("whatif-prices"), { caption: "Prices of the promises, now and with the floors tried", kind: "compare" });
    this.facts = new Map();
    for (const [key, title] of [["revenue", "The best plan earns"], ["cost", "The promises cost"]]) {
      const value = made("dd"), note = made("dd", { class: "quiet" });
      byId("whatif-facts").append(made("div", { "data-fact": key }, made("dt", null, title), value, note));
      this.facts.set(key, [value, note]);
    }
    byId("reset").addEventListener("click", () => this.reset());
    this.begin(null);
  }

  // Begins again with another campaign.
  begin(campaign) {
    this.campaign = campaign;
    this.sliders = [];
    this.plan = null; // in force
    this.tried = null;
    this.question = 0; // the latest one that was put
    this.isAsking = false;
    this.isWanted = false;
    byId("sliders").replaceChildren();
    this.forget();
  }

  // Takes note of the plan in force; sliders that nobody moved follow the floors of the campaign.
  update(plan, status, dropped) {
    this.dropped = dropped;
    if (plan.floors.length > 0) this.plan = plan;
    if (plan.floors.length === 0) {
      if (this.sliders.length === 0) write(byId("answer"), "Floors can be tried once the first rewards have come.");
      return;
    }
    const known = new Map((status?.floors ?? []).map((floor) => [floor.name, floor]));
    const names = JSON.stringify(plan.floors.map((floor) => floor.name));
    if (names !== this.names || this.sliders.length === 0) {
      if (status === null) return; // how far a slider goes depends on what can be promised
      this.names = names;
      this.sliders = plan.floors.map((floor) => {
        const largest = known.get(floor.name)?.largest;
        const most = Math.max(isNumber(largest) ? largest : 0, floor.floor * 1.5, (plan.revenue_without_floors ?? 0) / 4);
        return new Slider(floor, most > 0 ? most * 1.1 : 1, () => this.ask());
      });
      byId("sliders").replaceChildren(...this.sliders.map((slider) => slider.element));
      this.forget();
    }
    plan.floors.forEach((floor, at) => {
      const slider = this.sliders[at];
      if (slider.floor !== floor.floor && !slider.isMoved) slider.reset(floor.floor);
    });
    if (this.tried !== null) this.draw();
  }

  reset() {
    for (const slider of this.sliders) slider.reset(slider.floor);
    this.forget();
    this.announce("The floors are those in force.");
  }

  forget() {
    this.question += 1; // an answer that is still on its way is for nobody
    this.isWanted = false;
    this.tried = null;
    clearTimeout(this.settling);
    byId("reset").disabled = true;
    write(byId("answer"), INVITATION);
    show(byId("tried"), false);
    show(byId("whatif-alarm"), false);
  }

  // Puts the question, or, while another is being answered, notes that there is one.
  async ask() {
    const moved = this.sliders.filter((slider) => slider.isMoved);
    if (moved.length === 0) { this.forget(); return; }
    byId("reset").disabled = false;
    if (this.isAsking) { this.isWanted = true; return; }
    this.isAsking = true;
    this.isWanted = false;
    const campaign = this.campaign, question = ++this.question;
    const floors = Object.fromEntries(moved.map((slider) => [slider.name, slider.value]));
    try {
      const answer = await ask(campaignPath(campaign, "what-if"), { body: { floors }, patience: PLANNER_PATIENCE });
      if (campaign === this.campaign && question === this.question) { this.tried = answer; this.draw(); this.settle(); }
    } catch (error) {
      if (campaign === this.campaign && question === this.question) write(byId("answer"), error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, GAP));
    this.isAsking = false;
    if (this.isWanted) this.ask();
  }

  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.announce(byId("answer").textContent), SETTLED);
  }

  draw() {
    const { plan, tried } = this, before = costOf(plan), after = costOf(tried);
    show(byId("tried"), true);
    const revenue = [plan, tried].map((one) => one.revenue_with_floors ?? one.expected_revenue);
    const change = revenue[1] - revenue[0];
    const relative = revenue[0] > 0 ? change / revenue[0] : null;
    const word = relative === null || Math.abs(relative) < 0.0005 ? "about what it is now"
      : `${percent(Math.abs(relative), 2)} ${relative < 0 ? "less" : "more"} than now`;
    write(byId("answer"), `With these floors the best plan would earn ${number(revenue[1])} per decision, ${word}.`);
    const [value, note] = this.facts.get("revenue");
    write(value, number(revenue[1]));
    write(note, `per decision, now ${number(revenue[0])}`);
    const [cost, costNote] = this.facts.get("cost");
    write(cost, after === null ? "–" : number(after.amount));
    write(costNote, after === null ? "" : `${percent(after.share)} of revenue, now ${percent(before?.share)}`);
    const box = byId("whatif-alarm"), names = tried.conflicting_floors;
    const short = names.length > 0 ? [] : tried.floors.filter(isShort).map((floor) => floor.name);
    box.replaceChildren(
      ...(names.length > 0 ? [alarm(names, tried.attainable_share)] : []),
      ...(short.length > 0 ? [made("p", null, "The rule would try to keep these floors, but by the averages so far ",
        ...sentence(short), ` ${short.length === 1 ? "is" : "are"} expected to fall short.`)] : []),
    );
    show(box, box.childElementCount > 0);
    this.#prices(plan, tried);
    const isSame = plan.allocation.length === tried.allocation.length && plan.contexts.length === tried.contexts.length;
    this.heat.update(tried, { before: isSame ? plan.allocation : null, dropped: this.dropped });
  }

  #prices(plan, tried) {
    this.prices.shape(
      tried.floors.map((floor) => floor.name),
      ["promise to", "floor", "expected", "price now", "price then"].map((text) => made("th", { scope: "col" }, text)),
      tried.floors.map((floor) => made("th", { scope: "row" }, named(floor.name))),
    );
    const now = new Map(plan.floors.map((floor) => [floor.name, floor]));
    tried.floors.forEach((floor, row) => {
      const own = now.get(floor.name), cells = this.prices.cells[row];
      const texts = [number(floor.floor), number(floor.expected), priceOf(own), priceOf(floor)];
      texts.forEach((text, column) => write(cells[column], text));
      cells[1].classList.toggle("short", isShort(floor));
      cells[0].parentElement.classList.toggle("moved", own !== undefined && own.floor !== floor.floor);
    });
  }
}

