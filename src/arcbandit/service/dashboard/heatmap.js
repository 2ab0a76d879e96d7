// The allocation as a table whose cells are coloured: picture and numbers in one.

import { Table, made, named, show, write } from "./dom.js";
import { count, percent, signed } from "./format.js";

const MOST_ARMS = 60, MOST_CONTEXTS = 40; // more would neither fit nor be read
const MANY_CONTEXTS = 12; // from which on colours alone are seen, and numbers are read out or pointed at
const POINT = 0.005; // a difference of shares that is shown
const DARK = 0.8; // from this share on, letters are read better in the other colour

// The places of the largest of these numbers, in the order in which they stand.
function largest(values, most) {
  const places = values.map((_, place) => place);
  if (values.length <= most) return places;
  return places.sort((one, other) => values[other] - values[one]).slice(0, most).sort((one, other) => one - other);
}

export class HeatMap {
  constructor(holder, caption, more = null) {
    this.table = new Table(holder, { caption, kind: "heat" });
    this.more = more;
  }

  // `before` is another allocation of the same shape, from which the differences are shown.
  update(plan, { retired = [], dropped = [], before = null } = {}) {
    const { arms, contexts, allocation, context_probabilities: probabilities } = plan;
    const visits = probabilities ?? contexts.map(() => 1 / contexts.length);
    const weights = allocation.map((row) => row.reduce((sum, share, place) => sum + share * visits[place], 0));
    const left = new Set(dropped);
    const rows = largest(weights, MOST_ARMS);
    const columns = largest(visits, MOST_CONTEXTS).filter((column) => !left.has(contexts[column]));
    const gone = new Set(retired);
    const signature = [rows.map((row) => [arms[row], gone.has(arms[row])]), columns.map((one) => contexts[one])];
    const isNew = this.table.shape(
      signature,
      [
        made("th", { scope: "col" }, "arm"),
        ...columns.map((one) => made("th", { scope: "col" }, named(contexts[one]), made("small"))),
      ],
      rows.map((row) =>
        made("th", { scope: "row" }, named(arms[row]), gone.has(arms[row]) ? made("small", null, " retired") : null),
      ),
    );
    if (isNew) {
      const table = this.table.body.parentElement;
      table.style.setProperty("--columns", columns.length);
      table.classList.toggle("dense", columns.length > MANY_CONTEXTS);
      for (const cell of this.table.cells.flat()) {
        cell.append(made("b"), made("span", { class: "unit" }, "\u202f%"), made("small"));
      }
    }
    const heads = this.table.head.querySelectorAll("th small");
    columns.forEach((one, place) => write(heads[place], probabilities ? ` ${percent(visits[one], 0)} of visits` : ""));
    rows.forEach((row, i) => columns.forEach((column, j) => {
      const cell = this.table.cells[i][j], share = allocation[row][column];
      const change = before === null ? 0 : share - before[row][column];
      cell.style.setProperty("--share", share.toFixed(3));
      cell.className = share > DARK ? "dark" : share < POINT ? "none" : "";
      cell.classList.toggle("changed", Math.abs(change) >= POINT);
      cell.title = `${arms[row]}, ${contexts[column]}: ${percent(share, 0)}`;
      write(cell.firstChild, String(Math.round(share * 100)));
      write(cell.lastChild, Math.abs(change) >= POINT ? signed(Math.round(change * 100), String) : "");
    }));
    if (this.more !== null) {
      const isCut = rows.length < arms.length || columns.length + left.size < contexts.length;
      show(this.more, isCut);
      if (isCut) {
        write(this.more, `Shown are the ${rows.length} arms and ${columns.length} contexts with most visits, of ` +
          `${count(arms.length)} and ${count(contexts.length)}; the API has all.`);
      }
    }
  }
}
