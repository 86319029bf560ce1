// Requests to the server; errors carry its message.

/** Whether this is a phone, which may only ask, teach and forget: the studio serves HTTPS to phones alone. */
export const isPhone = location.protocol === "https:";

const token = readToken();

/** The token in the address; it is removed from the address bar and stored for this tab.

On a phone it is stored longer, so that the page can be opened from the home screen. */
function readToken() {
  const storage = isPhone ? localStorage : sessionStorage;
  const given = new URLSearchParams(location.search).get("token");
  if (given) {
    storage.setItem("token", given);
    history.replaceState(null, "", location.pathname + location.hash);
  }
  return given ?? storage.getItem("token") ?? "";
}

export const hasToken = () => token !== "";

/** An error response of the server; `field` is the field of a form that it is about, if any. */
export class ApiError extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

/** The URL of an image, a download or an event stream, which cannot send headers. */
export const url = (path, query = {}) => `/api/${path}?${parameters({ ...query, token })}`;

/** The JSON response to a GET request. */
export const get = async (path, query = {}) => (await request("GET", path, query)).json();

/** The JSON response to a POST request with an optional binary body. */
export const post = async (path, query = {}, body = undefined) =>
  (await request("POST", path, query, body)).json();

/** The JSON response to a POST request with a JSON body. */
export async function postJson(path, object, query = {}) {
  const headers = { "Content-Type": "application/json" };
  return (await request("POST", path, query, JSON.stringify(object), headers)).json();
}

/** An image file, decoded by the server. */
export async function decodeImage(file) {
  return createImageBitmap(await (await request("POST", "decode", {}, file)).blob());
}

async function request(method, path, query, body, headers = {}) {
  let response;
  try {
    response = await fetch(`/api/${path}?${parameters(query)}`, {
      method,
      body,
      headers: { "X-Everlearn-Token": token, ...headers },
    });
  } catch {
    throw new ApiError("The server does not respond; is `everlearn studio` still running?");
  }
  if (response.ok) return response;
  const { error, field } = await response.json().catch(() => ({}));
  throw new ApiError(sentence(error ?? `the server responded with status ${response.status}`), field);
}

function parameters(query) {
  const all = new URLSearchParams();
  for (const [name, values] of Object.entries(query))
    for (const value of [values].flat()) if (value !== undefined && value !== null) all.append(name, value);
  return all;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");
