// Numbers and times as people read them.

const UNKNOWN = "–";

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value, digits = 4) {
  if (!isNumber(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return value.toExponential(2);
  const notation = size >= 1e5 ? "compact" : "standard"; // 240M: long numbers would not fit
  return value.toLocaleString("en-US", { notation, maximumSignificantDigits: digits });
}

// A price: so many digits that prices stand in line.
function price(value) {
  if (!isNumber(value) || value === 0 || Math.abs(value) < 1e-6 || Math.abs(value) >= 1e6) return number(value, 3);
  return value.toLocaleString("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}

// The price of a floor; in a degenerate plan, from what its last unit costs to what one more would, if available.
export function priceOf(floor) {
  const single = price(floor?.price);
  if (!isNumber(floor?.price) || floor.price_low === undefined) return single;
  const low = isNumber(floor.price_low) ? price(floor.price_low) : single;
  if (floor.price_high === null) return `${low} or more`;
  const high = price(floor.price_high);
  return low === high ? single : `${low} to ${high}`;
}

export const count = (value) => (isNumber(value) ? value.toLocaleString("en-US") : UNKNOWN);

export function percent(share, digits = 1) {
  if (!isNumber(share)) return UNKNOWN;
  const text = (share * 100).toLocaleString("en-US", { maximumFractionDigits: digits });
  return `${text === "-0" ? "0" : text}\u202f%`;
}

export function signed(value, written) {
  return value > 0 ? `+${written(value)}` : value < 0 ? `−${written(-value)}` : written(0);
}

export function rate(perSecond) {
  if (!isNumber(perSecond)) return UNKNOWN;
  const digits = perSecond >= 10 ? 0 : 1;
  return perSecond.toLocaleString("en-US", { maximumFractionDigits: digits });
}

export function duration(seconds) {
  if (!isNumber(seconds)) return UNKNOWN;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const [size, unit] = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"]].find(([one]) => seconds >= one);
  return `${Math.round(seconds / size)} ${unit}`;
}

export function clock(seconds, span) {
  const date = new Date(seconds * 1000);
  const options =
    span > 2 * 86400
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", ...(span < 1200 ? { second: "2-digit" } : {}), hourCycle: "h23" };
  return date.toLocaleString("en-GB", options);
}
