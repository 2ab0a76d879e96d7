"use strict";
// Makes the page's line charts live: values under the pointer, lines that can be hidden, linear or logarithmic axes,
// and a slider over the points of a dial. Without it, the page shows the same charts as images.
(() => {
  const WIDTH = 400, HEIGHT = 300, LEFT = 52, RIGHT = 14, TOP = 26, BOTTOM = 40;
  const LOWEST = 1e-6; // of the largest value; a logarithmic axis shows nothing smaller
  const escaped = (text) => String(text).replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
  const written = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
  const short = (value) => {
    if (Math.abs(value) >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
    if (Math.abs(value) >= 1e3) return `${+(value / 1e3).toPrecision(3)}k`;
    return String(+value.toPrecision(3));
  };
  const isNumber = (value) => value !== null && Number.isFinite(value);
  const made = (markup) => {
    const holder = document.createElement("template");
    holder.innerHTML = markup;
    return holder.content.firstElementChild;
  };

  // Evenly spaced round numbers, or powers of ten.
  function ticks(low, high, isLog) {
    if (isLog) {
      const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
      const every = Math.max(1, Math.ceil((last - first) / 5));
      const decades = [];
      for (let power = first; power <= last; power += every) decades.push(10 ** power);
      if (decades.length > 1) return decades;
      const steps = [1, 2, 5].flatMap((step) => [first - 1, first, last].map((power) => step * 10 ** power));
      return [...new Set(steps)].filter((value) => value >= low && value <= high);
    }
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
    return found;
  }

  // From values to pixels, and the ticks; null where a value cannot be shown.
  function axis(values, isLog, from, to, room) {
    let shown = values.filter(isNumber);
    const largest = Math.max(...shown, 0);
    if (isLog) shown = shown.filter((value) => value > Math.max(largest * LOWEST, 0));
    let low = Math.min(...shown), high = Math.max(...shown);
    if (!shown.length) [low, high] = isLog ? [0.1, 10] : [0, 1];
    if (!isLog) low = Math.min(low, 0);
    if (low === high) [low, high] = isLog ? [low / 2, high * 2] : [low, high + 1];
    if (room) [low, high] = isLog ? [low / 1.25, high * 1.25] : [low, high + 0.05 * (high - low)];
    const scale = isLog ? Math.log10 : (value) => value;
    const [first, last] = [scale(low), scale(high)];
    const place = (value) => {
      if (!isNumber(value) || (isLog && value < low * (1 - 1e-9))) return null;
      return from + ((scale(value) - first) / (last - first)) * (to - from);
    };
    return { place, ticks: ticks(low, high, isLog), isLog };
  }

  function path(xs, ys) {
    let drawing = false, text = "";
    xs.forEach((x, place) => {
      const y = ys[place];
      if (x === null || y === null) { drawing = false; return; }
      text += `${drawing ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      drawing = true;
    });
    return text;
  }

  class LiveChart {
    constructor(figure, chart) {
      this.chart = chart;
      this.isLog = { x: chart.x_log, y: chart.y_log };
      this.hidden = new Set();
      this.at = null; // the place on the horizontal axis, as a number, that is read out
      this.dialled = null;
      this.box = made('<div class="live"></div>');
      this.controls = made('<div class="controls" role="group" aria-label="Lines and axes"></div>');
      this.drawing = made('<div></div>');
      this.readout = made('<p class="readout" aria-live="polite"></p>');
      this.box.append(this.drawing, this.controls, this.readout);
      this.addControls();
      this.addDial();
      figure.querySelector("img").replaceWith(this.box);
      this.render();
    }

    addControls() {
      const { lines } = this.chart;
      if (lines.length > 1) {
        lines.forEach((line, place) => {
          const button = made(`<button type="button" aria-pressed="true" data-line="${place}"><span class="swatch"
            style="background:${escaped(line.color)}"></span>${escaped(line.label)}</button>`);
          button.addEventListener("click", () => {
            if (!this.hidden.delete(place)) this.hidden.add(place);
            button.setAttribute("aria-pressed", String(!this.hidden.has(place)));
            this.render();
          });
          this.controls.append(button);
        });
      }
      for (const [name, label] of [["x", this.chart.x_label], ["y", this.chart.y_label]]) {
        const values = lines.flatMap((line) => line[name]);
        if (!values.some((value) => value > 0)) continue;
        const button = made(`<button type="button" class="axis" data-axis="${name}" aria-pressed="${this.isLog[name]}"
          title="${escaped(label)}" aria-label="logarithmic axis: ${escaped(label)}">log ${name}</button>`);
        button.addEventListener("click", () => {
          this.isLog[name] = !this.isLog[name];
          button.setAttribute("aria-pressed", String(this.isLog[name]));
          this.render();
        });
        this.controls.append(button);
      }
    }

    addDial() {
      const line = this.chart.lines.find((one) => one.point_names);
      if (!line) return;
      const last = line.x.length - 1;
      this.dialled = { line, place: Math.floor(last / 2) };
      const dial = made(`<div class="dial"><label>${escaped(line.label)} <input type="range" min="0" max="${last}"
        step="1" value="${this.dialled.place}"></label><output></output></div>`);
      const slider = dial.querySelector("input"), output = dial.querySelector("output");
      const tell = () => {
        const place = this.dialled.place = Number(slider.value);
        const { x_label: across, y_label: up } = this.chart;
        output.textContent = `${line.label} ${line.point_names[place]}: ${across} ${written(line.x[place])}, ` +
          `${up} ${written(line.y[place])}`;
        slider.setAttribute("aria-valuetext", output.textContent);
      };
      slider.addEventListener("input", () => { tell(); this.render(); });
      tell();
      this.box.append(dial);
      this.readout.remove();
    }

    visible() {
      return this.chart.lines.filter((_, place) => !this.hidden.has(place));
    }

    render() {
      const { chart } = this, lines = this.visible();
      const guides = lines.length ? chart.guides : [];
      const all = lines.length ? [...lines, ...guides] : chart.lines;
      const shades = lines.flatMap((line) => line.high ?? []);
      this.x = axis(all.flatMap((line) => line.x), this.isLog.x, LEFT, WIDTH - RIGHT, lines.some((line) => line.marks));
      this.y = axis([...all.flatMap((line) => line.y), ...shades], this.isLog.y, HEIGHT - BOTTOM, TOP, true);
      const { x, y } = this;
      const parts = [`<text class="title" x="${LEFT}" y="14">${escaped(chart.title)}</text>`];
      for (const value of x.ticks) {
        const where = x.place(value);
        if (where === null) continue;
        parts.push(`<path d="M${where} ${TOP}V${HEIGHT - BOTTOM}" stroke="#e4e4e4"/>
          <text x="${where}" y="${HEIGHT - BOTTOM + 15}" text-anchor="middle">${short(value)}</text>`);
      }
      for (const value of y.ticks) {
        const where = y.place(value);
        if (where === null) continue;
        parts.push(`<path d="M${LEFT} ${where}H${WIDTH - RIGHT}" stroke="#e4e4e4"/>
          <text x="${LEFT - 5}" y="${where + 4}" text-anchor="end">${short(value)}</text>`);
      }
      parts.push(`<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${escaped(chart.x_label)}
        </text><text transform="translate(12 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"
        text-anchor="middle">${escaped(chart.y_label)}</text>`);
      for (const guide of guides) parts.push(this.drawn(guide, 1, "guide"), this.guideName(guide));
      for (const line of lines) if (line.low) parts.push(this.shade(line));
      chart.lines.forEach((line, place) => {
        if (!this.hidden.has(place)) parts.push(this.drawn(line, 1.8, "line", place));
      });
      if (this.dialled) parts.push(...this.points());
      else for (const line of lines) if (line.marks) parts.push(...this.marks(line));
      const old = document.activeElement === this.drawing.firstElementChild;
      this.drawing.innerHTML = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" tabindex="0"
        aria-label="${escaped(`${chart.alt} Arrow keys read out values.`)}">${parts.join("")}<g class="cursor"></g></svg>`;
      this.listen(this.drawing.firstElementChild);
      if (old) this.drawing.firstElementChild.focus();
      if (!this.dialled) this.read();
    }

    drawn(line, width, kind, place = "") {
      const d = path(line.x.map(this.x.place), line.y.map(this.y.place));
      return `<path class="${kind}" data-place="${place}" d="${d}" fill="none" stroke="${escaped(line.color)}"
        stroke-width="${width}" stroke-dasharray="${line.dash}"/>`;
    }

    guideName(guide) {
      const middle = Math.floor(guide.x.length * 0.6), x = this.x.place(guide.x[middle]), y = this.y.place(guide.y[middle]);
      if (x === null || y === null) return "";
      // Below the axis there are its numbers.
      const below = Boolean(guide.below) && y + 16 < HEIGHT - BOTTOM;
      const rises = guide.y[guide.y.length - 1] >= guide.y[0], left = rises !== below;
      return `<text x="${x + (left ? -6 : 6)}" y="${y + (below ? 16 : -6)}" text-anchor="${left ? "end" : "start"}"
        opacity=".75">${escaped(guide.label)}</text>`;
    }

    // Where both edges can be shown; a logarithmic axis has no zero to reach.
    shade(line) {
      const shown = line.x.map((value, place) => [this.x, this.y, this.y].map((one, edge) =>
        one.place([value, line.low[place], line.high[place]][edge]))).filter((three) => !three.includes(null));
      const there = shown.map(([x, , high]) => `${x.toFixed(1)} ${high.toFixed(1)}`);
      const back = shown.reverse().map(([x, low]) => `${x.toFixed(1)} ${low.toFixed(1)}`);
      if (!there.length) return "";
      return `<path class="shade" d="M${[...there, ...back].join("L")}Z" fill="${escaped(line.color)}" opacity=".16"/>`;
    }

    marks(line) {
      return line.x.map((value, place) => {
        const x = this.x.place(value), y = this.y.place(line.y[place]);
        return x === null || y === null ? "" : `<circle cx="${x}" cy="${y}" r="3" fill="${escaped(line.color)}"/>`;
      });
    }

    points() {
      const { line, place } = this.dialled;
      return line.x.map((value, index) => {
        const x = this.x.place(value), y = this.y.place(line.y[index]);
        if (x === null || y === null) return "";
        const chosen = index === place;
        const end = x > WIDTH * 0.7;
        return `<circle cx="${x}" cy="${y}" r="${chosen ? 7 : 3.5}" fill="${escaped(line.color)}"
          ${chosen ? 'class="chosen" stroke="#222" stroke-width="2"' : ""}/><text x="${x + (end ? -9 : 9)}" y="${y - 6}"
          text-anchor="${end ? "end" : "start"}"${chosen ? ' font-weight="700"' : ""}>${escaped(line.point_names[index])}</text>`;
      });
    }

    listen(svg) {
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        this.moveTo(((event.clientX - box.left) / box.width) * WIDTH);
      });
      svg.addEventListener("keydown", (event) => {
        const xs = this.places(), now = this.at === null ? -1 : xs.indexOf(this.at);
        const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: xs.length - 1 }[event.key];
        if (next === undefined || !xs.length || this.dialled) return;
        event.preventDefault();
        this.at = xs[Math.min(Math.max(next, 0), xs.length - 1)];
        this.read();
      });
    }

    // Every place on the horizontal axis at which a visible line has a value that is shown.
    places() {
      const found = new Set(this.visible().flatMap((line) => line.x));
      return [...found].filter((value) => this.x.place(value) !== null).sort((one, other) => one - other);
    }

    moveTo(pixel) {
      const away = (value) => Math.abs(this.x.place(value) - pixel);
      const xs = this.places();
      if (!xs.length || this.dialled) return;
      this.at = xs.reduce((best, value) => (away(value) < away(best) ? value : best));
      this.read();
    }

    read() {
      const cursor = this.drawing.querySelector(".cursor"), lines = this.visible();
      if (this.at === null || !lines.length) {
        this.readout.textContent = lines.length ? "Point at the chart, or use the arrow keys, to read values." : "";
        cursor.innerHTML = "";
        return;
      }
      const where = this.x.place(this.at), told = [], marks = [];
      for (const line of lines) {
        const place = line.x.indexOf(this.at);
        if (place < 0 || !isNumber(line.y[place])) continue;
        const band = line.low && isNumber(line.low[place])
          ? ` (${written(line.low[place])} to ${written(line.high[place])})` : "";
        told.push(`${line.label} ${written(line.y[place])}${band}`);
        const height = this.y.place(line.y[place]);
        if (height !== null && where !== null) marks.push(`<circle cx="${where}" cy="${height}" r="3.5" fill="${escaped(line.color)}"/>`);
      }
      const stroke = where === null ? "" : `<path d="M${where} ${TOP}V${HEIGHT - BOTTOM}" stroke="#777" stroke-dasharray="2 2"/>`;
      cursor.innerHTML = stroke + marks.join("");
      this.readout.textContent = `${this.chart.x_label} ${written(this.at)}: ${told.join("; ")}`;
    }
  }

  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    new LiveChart(figure, JSON.parse(document.getElementById(figure.dataset.chart).textContent));
  }

  const bibtex = document.getElementById("bibtex");
  if (bibtex) {
    const button = made('<div class="controls"><button type="button" class="axis" aria-pressed="false">Copy</button></div>');
    button.firstElementChild.removeAttribute("aria-pressed");
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(bibtex);
      document.execCommand("copy"); // works for a file as well, where the clipboard's newer interface may not
      button.firstElementChild.textContent = "Copied";
    });
    bibtex.after(button);
  }
})();
