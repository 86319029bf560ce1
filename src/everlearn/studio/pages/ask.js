// Questions to the studio's server; whatever it refuses becomes a sentence.

const token = remembered();

/** The token of the address we were opened with; it leaves the address bar and stays with this tab. */
function remembered() {
  const given = new URLSearchParams(location.search).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname + location.hash);
  }
  return given ?? sessionStorage.getItem("token") ?? "";
}

export const hasToken = () => token !== "";

/** A refusal of the server, in its own words. */
export class Refused extends Error {}

/** The address of an image or a stream of events, which cannot send headers. */
export function address(path, query = {}) {
  return `/api/${path}?${parameters({ ...query, token })}`;
}

/** The server's answer to a question that changes nothing. */
export const ask = (path, query = {}) => send("GET", path, query);

/** The server's answer to an act. */
export const tell = (path, query = {}, body = undefined) => send("POST", path, query, body);

/** An act whose particulars are an object. */
export const tellObject = (path, object) =>
  send("POST", path, {}, JSON.stringify(object), { "Content-Type": "application/json" });

/** An image file as the server sees it: a small image of its pixels alone. */
export async function opened(file) {
  return createImageBitmap(await (await asked("POST", "image", {}, file)).blob());
}

async function send(...request) {
  return (await asked(...request)).json();
}

async function asked(method, path, query, body, headers = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}?${parameters(query)}`, {
      method,
      body,
      headers: { "X-Everlearn-Token": token, ...headers },
    });
  } catch {
    throw new Refused("The studio does not answer; is `everlearn studio` still running?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(sentence(said.error ?? `the studio answered ${answer.status}`));
}

function parameters(query) {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) all.append(name, each);
  return all;
}

const sentence = (words) =>
  words.charAt(0).toUpperCase() + words.slice(1) + (/[.?!]$/.test(words) ? "" : ".");
