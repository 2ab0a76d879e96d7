// How every promise stands: one sentence, a few facts, and a table.

import { Table, byId, made, named, sentence, show, write } from "./dom.js";
import { count, duration, isNumber, number, percent, priceOf, rate } from "./format.js";

const KEPT = "kept", OUT_OF_REACH = "out of reach";
const SIGNS = { [KEPT]: "✓", "at risk": "!", [OUT_OF_REACH]: "✕" };
const PROOFS = {
  optimal: "proven optimal for what is known",
  bounded: "compared with a proven best plan",
  exploring: "exploring: nothing is claimed yet",
};
const ORDER = [OUT_OF_REACH, "at risk", KEPT];
const MANY = 12; // promises, of which those in danger come first
const LITTLE = 0.0005; // part of revenue that is not worth a number
const BY_HAND = ["starting", "adjusted"]; // how plans came about that no rule made

// What the promises cost, as a part of the revenue without them; null if that is not known.
export function costOf(plan) {
  const { revenue_with_floors: withFloors, revenue_without_floors: without } = plan;
  if (!isNumber(withFloors) || !isNumber(without)) return null;
  const cost = Math.max(without - withFloors, 0);
  return { amount: cost, share: without > 0 ? cost / without : null, without };
}

export function costInWords(cost) {
  if (cost === null || cost.share === null) return null;
  return cost.share < LITTLE ? "next to nothing" : `${percent(cost.share)} of revenue`;
}

const promised = (status) => status.floors.filter((floor) => floor.promised > 0);

export function verdict(plan, status) {
  if (status === null) return "The planner is starting, which takes up to a minute the first time.";
  const floors = promised(status), all = count(floors.length);
  const word = floors.length === 1 ? "promise" : "promises";
  if (floors.length === 0) return "Nothing is promised: every floor is zero.";
  if (status.rewards === 0) return `${all} ${word} to keep, and no reward yet.`;
  const kept = floors.filter((floor) => floor.state === KEPT).length;
  const out = floors.filter((floor) => floor.state === OUT_OF_REACH).length;
  const risk = floors.length - kept - out;
  const parts = [`${count(kept)} of ${all} ${word} kept`];
  if (risk) parts.push(`${count(risk)} at risk`);
  if (out) parts.push(`${count(out)} out of reach`);
  const words = costInWords(costOf(plan));
  if (BY_HAND.includes(plan.how)) return `${parts.join(", ")}; a new plan is being made.`;
  if (plan.how === "exploring" || words === null) return `${parts.join(", ")}; the arms are still being explored.`;
  const keeping = out ? "trying to keep" : "keeping";
  return `${parts.join(", ")}; ${keeping} ${floors.length === 1 ? "it" : "them"} costs ${words}.`;
}

function moodOf(status) {
  if (status === null || status.rewards === 0 || promised(status).length === 0) return "waiting";
  return status.state.replaceAll(" ", "-");
}

// The floors that no plan can keep together, as names; empty if there are none.
export function outOfReach(plan, status) {
  if (plan.conflicting_floors.length > 0) return plan.conflicting_floors;
  if (status === null || status.rewards === 0) return [];
  return promised(status).filter((floor) => floor.state === OUT_OF_REACH).map((floor) => floor.name);
}

export function alarm(names, share) {
  const attainable = isNumber(share) && share < 1 ? ` Every promise could have ${percent(share)} of its floor.` : "";
  return made(
    "p",
    null,
    made("strong", null, "More was promised than can be earned. "),
    names.length === 1 ? "The floor of " : "The floors of ",
    ...sentence(names),
    names.length === 1 ? " is more than any plan can be expected to earn beside the others."
      : " are more than any plan can be expected to earn together.",
    attainable,
  );
}

export class Promises {
  constructor() {
    this.table = new Table(byId("promises"), { caption: "Every promise with its price", kind: "promises" });
    this.facts = new Map();
    for (const [key, title] of [["revenue", "Revenue per decision"], ["cost", "The promises cost"],
      ["plan", "Plan in force"], ["decisions", "Decisions"], ["rewards", "Rewards"]]) {
      const value = made("dd"), note = made("dd", { class: "quiet" });
      byId("facts").append(made("div", { "data-fact": key }, made("dt", null, title), value, note));
      this.facts.set(key, (text, more) => { write(value, text); write(note, more); });
    }
  }

  update(plan, status, rates, campaign) {
    const hero = byId("verdict");
    write(hero, verdict(plan, status));
    hero.className = moodOf(status);
    this.#alarm(plan, status);
    this.#hint(plan, status);
    this.#facts(plan, status, rates);
    this.#table(plan, status, campaign);
  }

  #alarm(plan, status) {
    const box = byId("alarm"), names = outOfReach(plan, status);
    const share = plan.attainable_share ?? status?.attainable_share;
    const own = plan.warnings.filter((text) => !text.endsWith("are out of reach."));
    const signature = JSON.stringify([names, percent(share), own]);
    if (box.dataset.signature === signature) return;
    box.dataset.signature = signature;
    box.replaceChildren(
      ...(names.length > 0 ? [alarm(names, share)] : []),
      ...own.map((text) => made("p", null, made("strong", null, "The last proven plan stays in force. "), text)),
    );
    show(box, names.length > 0 || own.length > 0);
  }

  #hint(plan, status) {
    const hint = byId("hint");
    let text = "";
    if (status !== null && status.decisions === 0) {
      text = "Ask for a decision with POST …/decide, and send what it earned with POST …/rewards: this page follows.";
    } else if (status !== null && status.rewards === 0) {
      text = "Decisions are being made, each arm equally often. Send what they earn with POST …/rewards, and the " +
        "service begins to learn.";
    }
    write(hint, text);
    show(hint, text !== "");
  }

  #facts(plan, status, rates) {
    const cost = costOf(plan);
    const of = (key, text, more) => this.facts.get(key)(text, more);
    of("revenue", number(plan.expected_revenue), "expected under the plan in force");
    of("cost", cost === null ? "–" : number(cost.amount),
      cost === null ? "known once every pair was played" : `${percent(cost.share)} of ${number(cost.without)} without them`);
    const kind = plan.certificate?.kind;
    const cadence = isNumber(plan.replan_every_seconds) ? `; a new one may come every ${duration(plan.replan_every_seconds)}` : "";
    const late = plan.is_late ? `, the next ${duration(plan.overdue_seconds)} late` : "";
    of("plan", `${duration(plan.age_seconds)} old${late}`,
      `version ${count(plan.version)}, ${PROOFS[kind] ?? (BY_HAND.includes(plan.how) ? "not yet by the rule" : "not proven")}${cadence}`);
    for (const key of ["decisions", "rewards"]) {
      const known = rates[key] !== null;
      of(key, known ? `${rate(rates[key])} a second` : "–", `${count(status?.[key] ?? plan[key])} in all`);
    }
  }

  #table(plan, status, campaign) {
    let told = plan.floors;
    if (told.length === 0) {
      if (this.campaign === campaign.name) return; // until the next plan, the last one stays
      told = campaign.floors.map((floor) => ({ ...floor, expected: null, price: null }));
    }
    this.campaign = campaign.name;
    const states = new Map((status?.floors ?? []).map((floor) => [floor.name, floor]));
    const floors = [...told];
    if (floors.length > MANY) {
      const urgency = (floor) => (floor.floor > 0 ? ORDER.indexOf(states.get(floor.name)?.state) : ORDER.length);
      floors.sort((one, other) => urgency(one) - urgency(other));
    }
    const isNew = this.table.shape(
      floors.map((floor) => [floor.name, floor.kind]),
      ["promise to", "expected, and its floor", "price"].map((text) => made("th", { scope: "col" }, text)),
      floors.map((floor) =>
        made("th", { scope: "row" }, made("div", { class: "promise" }, made("span", { class: "state" }), named(floor.name),
          floor.kind === "group" ? made("small", null, " group") : null))),
    );
    if (isNew) {
      this.table.cells.forEach(([earned]) =>
        earned.append(made("span", { class: "figures" }), made("span", { class: "bar-of", "aria-hidden": "true" },
          made("i", { class: "fill" }), made("i", { class: "mark" }))));
    }
    const most = Math.max(...floors.map((floor) => Math.max(floor.expected ?? 0, floor.floor)), 1e-300);
    floors.forEach((floor, row) => {
      const [earned, cost] = this.table.cells[row];
      const state = floor.floor > 0 && status?.rewards ? states.get(floor.name)?.state : undefined;
      const badge = earned.previousElementSibling.querySelector(".state");
      badge.className = `state ${(state ?? "none").replaceAll(" ", "-")}`;
      badge.title = state ?? "nothing promised, or nothing known yet";
      if (badge.dataset.state !== (state ?? "")) {
        badge.dataset.state = state ?? "";
        badge.replaceChildren(made("span", { "aria-hidden": "true" }, SIGNS[state] ?? "·"),
          made("span", { class: "unseen" }, state ? `${state}: ` : ""));
      }
      write(earned.firstChild, floor.floor > 0 ? `${number(floor.expected)} of ${number(floor.floor)}` : number(floor.expected));
      const bar = earned.lastChild;
      bar.style.setProperty("--fill", (Math.max(floor.expected ?? 0, 0) / most).toFixed(4));
      bar.style.setProperty("--mark", (floor.floor / most).toFixed(4));
      bar.classList.toggle("free", floor.floor === 0);
      write(cost, priceOf(floor));
    });
  }
}
