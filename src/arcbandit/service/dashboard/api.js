// The service, as this page asks it: the token goes into a header, never into an address. Addresses are relative, so
// that a proxy may serve all of it under a path of its own.

const KEY = "arcbandit-token";
const PATIENCE = 10_000; // milliseconds
export const PLANNER_PATIENCE = 130_000; // a first question may have to wait for a compiler

// What went wrong; `kind` is "lost" (no answer), "token" (none, or one that may not read), "busy" or "refused".
export class ServiceError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

function kindOf(status) {
  if (status === 401 || status === 403) return "token";
  return status >= 500 ? "busy" : "refused";
}

export async function ask(path, { body, patience = PATIENCE } = {}) {
  const headers = {};
  // A header cannot hold every letter: what is no token is not sent.
  const given = token.get();
  if (given !== null) headers.authorization = `Bearer ${given.replace(/[^\x21-\x7e]/g, "")}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response, answer;
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    answer = await response.json();
  } catch {
    throw new ServiceError("lost", "The service does not answer.");
  }
  if (!response.ok) {
    throw new ServiceError(kindOf(response.status), answer?.error?.message ?? `The service answered ${response.status}.`);
  }
  return answer;
}

export function campaignPath(name, what = "") {
  return `v1/campaigns/${encodeURIComponent(name)}${what && `/${what}`}`;
}
