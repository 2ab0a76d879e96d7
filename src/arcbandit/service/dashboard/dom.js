// Elements from text: names come from outside, so nothing here ever reads markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const made = (tag, properties, ...children) => filled(document.createElement(tag), properties, children);
export const drawn = (tag, properties, ...children) => filled(document.createElementNS(SVG, tag), properties, children);
export const byId = (id) => document.getElementById(id);

// A name, which may be written in any direction, without effect on what stands around it; it may break after a slash.
export function named(name) {
  const parts = name.split(/(?<=[/_.-])/u);
  return made("bdi", { class: "name", title: name }, ...parts.flatMap((part, at) => (at ? [made("wbr"), part] : [part])));
}

// A name inside a text that has no elements, such as a label for screen readers.
export const isolated = (name) => `\u2068${name}\u2069`;

// Text that is written only if it changed, so that a selection or a screen reader is not disturbed.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

// A list of names as a sentence has it: A, B and C.
export function sentence(names, most = 8) {
  const shown = names.slice(0, most).map(named);
  if (names.length > most) shown.push(`${(names.length - most).toLocaleString("en-US")} others`);
  return shown.flatMap((name, place) => [place === 0 ? "" : place === shown.length - 1 ? " and " : ", ", name]);
}

// A table whose cells are kept and written again only where they changed.
export class Table {
  constructor(holder, { caption, kind = "" }) {
    this.head = made("thead");
    this.body = made("tbody");
    this.signature = null;
    holder.replaceChildren(
      made("table", { class: kind }, made("caption", { class: "unseen" }, caption), this.head, this.body),
    );
  }

  // Makes rows and columns again if `signature` differs from that of the last time; `cells` are then found by row.
  shape(signature, headings, rows) {
    const text = JSON.stringify(signature);
    if (text === this.signature) return false;
    this.signature = text;
    this.head.replaceChildren(made("tr", null, ...headings.map((one) => one)));
    this.cells = [];
    this.body.replaceChildren(
      ...rows.map((row) => {
        const cells = headings.slice(1).map(() => made("td"));
        this.cells.push(cells);
        return made("tr", null, row, ...cells);
      }),
    );
    return true;
  }
}
