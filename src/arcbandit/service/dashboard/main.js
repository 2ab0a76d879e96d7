// Follows one campaign of the service: asks every few seconds, shows what came, says when nothing comes.

import { PLANNER_PATIENCE, ask, campaignPath, token } from "./api.js";
import { byId, made, show, write } from "./dom.js";
import { clock } from "./format.js";
import { HeatMap } from "./heatmap.js";
import { Promises, verdict } from "./promises.js";
import { Timeline } from "./timeline.js";
import { WhatIf } from "./whatif.js";

const EVERY = 2000; // milliseconds between two looks
const SLOWEST = 15_000; // between two attempts while nothing answers
const CAMPAIGNS_EVERY = 5; // looks
const NEWS_EVERY = 20_000; // milliseconds: promises near the border may come and go
const RATE_OVER = 10; // seconds
const HISTORY_POINTS = 90;
const EXAMPLE = `curl ${new URL("v1/campaigns", location.href)} \\
  -H 'Authorization: Bearer TOKEN' \\
  -d '{"name": "shop",
       "floors": {"north": 0.2, "south": 0.1},
       "contexts": ["phone", "laptop"]}'`;

const state = { campaigns: null, name: null, plan: null, status: null, counts: [], looks: 0, seen: null, generation: 0 };
let isAskingStatus = false, isFollowing = false, isLost = false, failures = 0, timer = null;
let said = null, saidAt = -Infinity; // the news that was told last
let plannerProblem = ""; // why there is no status, though the service answers

// Tells a screen reader some news; what was told before is taken away first, or else the same news would not be heard.
function announce(text) {
  write(byId("announcer"), "");
  setTimeout(() => write(byId("announcer"), text), 50);
}

const heat = new HeatMap(byId("allocation"), "Allocation of the plan in force, in percent", byId("allocation-more"));
const promises = new Promises(), timeline = new Timeline(), whatIf = new WhatIf(announce);

// What the whole page is: "board", "empty" or "token".
function page(which) {
  for (const [name, id] of [["board", "board"], ["empty", "empty"], ["token", "token-form"]]) show(byId(id), name === which);
  show(byId("chooser"), which === "board");
  show(byId("forget"), which !== "token" && token.get() !== null);
  document.body.dataset.page = which;
}

function link(word, kind) {
  write(byId("link-word"), word);
  byId("link").dataset.kind = kind;
}

function reached() {
  failures = 0;
  if (isLost) announce("Connected again.");
  isLost = false;
  write(byId("notice"), plannerProblem);
  show(byId("notice"), plannerProblem !== "");
  document.body.classList.remove("stale");
  link("live", "live");
}

function failed(error) {
  if (error.kind === "token") {
    if (document.body.dataset.page !== "token") { page("token"); byId("token").focus(); }
    const problem = byId("token-problem");
    write(problem, token.get() === null ? "" : error.message);
    show(problem, token.get() !== null);
    link("no token", "lost");
    return;
  }
  failures += 1;
  const since = state.seen === null ? "" : ` What you see is of ${clock(state.seen / 1000, 0)}.`;
  const trying = " It is asked again by itself.";
  const notice = byId("notice");
  write(notice, error.kind === "lost" ? `The connection to the service is lost.${since}${trying}` : `${error.message}${since}${trying}`);
  show(notice, true);
  isLost = true;
  document.body.classList.add("stale");
  link(error.kind === "lost" ? "connection lost" : "service busy", "lost");
}

function choose(name) {
  if (name === state.name) return;
  Object.assign(state, { name, plan: null, status: null, counts: [], generation: state.generation + 1 });
  saidAt = -Infinity;
  whatIf.begin(name);
  timeline.begin({ points: [] });
  byId("campaign").value = name;
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  document.title = `${name} · arcbandit`;
}

// The name in the address, so that a link leads to its campaign.
function asked() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

function listed(campaigns) {
  state.campaigns = campaigns;
  const names = campaigns.map((campaign) => campaign.name).sort();
  const select = byId("campaign");
  if (JSON.stringify(names) !== select.dataset.names) {
    select.dataset.names = JSON.stringify(names);
    select.replaceChildren(...names.map((name) => made("option", { value: name }, name)));
    if (state.name !== null) select.value = state.name;
  }
  if (names.length === 0) return;
  if (state.name === null || !names.includes(state.name)) choose(names.includes(asked()) ? asked() : names[0]);
}

function rates() {
  const last = state.counts.at(-1), first = state.counts[0];
  if (state.counts.length < 2) return { decisions: null, rewards: null };
  const seconds = (last.at - first.at) / 1000;
  return {
    decisions: Math.max(last.decisions - first.decisions, 0) / seconds,
    rewards: Math.max(last.rewards - first.rewards, 0) / seconds,
  };
}

function draw() {
  const { plan, status } = state;
  if (plan === null) return;
  const campaign = state.campaigns.find((one) => one.name === state.name);
  promises.update(plan, status, rates(), campaign);
  const dropped = campaign.dropped_contexts;
  heat.update(plan, { retired: campaign.retired_arms, dropped });
  timeline.add(plan);
  whatIf.update(plan, status, dropped);
  if (status !== null) {
    document.body.dataset.version = String(status.plan_version);
    // The numbers move all the time; how many promises are kept is news.
    const stand = verdict(plan, status).replace(/;.*$/, ".");
    if (stand !== said && performance.now() - saidAt >= NEWS_EVERY) {
      announce(stand);
      said = stand;
      saidAt = performance.now();
    }
  }
}

// The planner may be slow, so that it is asked beside the rest, and not again until it has answered.
async function askStatus() {
  if (isAskingStatus) return;
  isAskingStatus = true;
  const generation = state.generation;
  const at = performance.now(); // the planner counts first, and may take long to tell
  try {
    const status = await ask(campaignPath(state.name, "status"), { patience: PLANNER_PATIENCE });
    if (generation !== state.generation) return;
    state.status = status;
    plannerProblem = "";
    state.counts.push({ at, decisions: status.decisions, rewards: status.rewards });
    while (state.counts.length > 2 && state.counts.at(-1).at - state.counts[1].at >= RATE_OVER * 1000) state.counts.shift();
    draw();
  } catch (error) {
    if (generation !== state.generation) return;
    if (error.kind === "busy") plannerProblem = `How the promises stand is not known: ${error.message}`;
    else failed(error);
  } finally {
    isAskingStatus = false;
  }
}

async function look() {
  if (state.campaigns === null || state.campaigns.length === 0 || state.looks % CAMPAIGNS_EVERY === 0) {
    listed((await ask("v1/campaigns")).campaigns);
  }
  state.looks += 1;
  if (state.campaigns.length === 0) {
    page("empty");
    return;
  }
  const generation = state.generation, name = state.name;
  if (state.plan === null) {
    const past = await ask(campaignPath(name, `history?points=${HISTORY_POINTS}`));
    if (generation === state.generation) timeline.begin(past);
  }
  const plan = await ask(campaignPath(name, "plan"));
  if (generation !== state.generation) return;
  const known = state.campaigns.find((campaign) => campaign.name === name);
  if (plan.revision > known.revision) state.looks = 0; // it was changed: look at it again
  state.plan = plan;
  state.seen = Date.now();
  page("board");
  draw();
  askStatus();
}

async function follow() {
  clearTimeout(timer);
  if (isFollowing) {
    timer = setTimeout(follow, 100);
    return;
  }
  isFollowing = true;
  const began = performance.now();
  if (!document.hidden) {
    try {
      await look();
      reached();
    } catch (error) {
      failed(error);
      if (error.kind === "token") {
        isFollowing = false;
        return;
      }
    }
  }
  isFollowing = false;
  // A service that needs long is asked less often, and one that does not answer less and less often.
  const pause = failures ? Math.min(EVERY * 1.5 ** (failures - 1), SLOWEST) : EVERY;
  clearTimeout(timer);
  timer = setTimeout(follow, Math.max(pause, 2 * (performance.now() - began)));
}

byId("campaign").addEventListener("change", (event) => { choose(event.target.value); follow(); });
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set(byId("token").value.trim());
  byId("token").value = "";
  follow();
});
byId("forget").addEventListener("click", () => { token.forget(); location.reload(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) follow(); });
window.addEventListener("online", follow);
window.addEventListener("hashchange", () => {
  if (state.campaigns?.some((campaign) => campaign.name === asked())) { choose(asked()); follow(); }
});
write(byId("example"), EXAMPLE);
follow();
