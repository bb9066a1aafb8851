// Who is signed in, and the CSRF token of that sign-in: both change when somebody signs out or in, in whichever tab.
// All that scripts, htmx and forms send takes the token from here. What is refused because it was of an earlier
// sign-in is sent again with the present one. Where the person of this page is not signed in, a notice asks for the
// password, and what was to be sent waits in the page until then. Nothing is ever sent as somebody else.
import { text } from "./texts.js";
const KEY = "rubricweb-signed-in"; // in localStorage: who, and since when, so that other tabs hear of a change
const ENDED = "X-Session-Ended";
const ANSWER_WITHIN_MS = 15_000;
const { since, session, bodyBytes } = document.body.dataset;
export const person = document.body.dataset.person; // "" for nobody
const signedIn = `${person} ${since}`;
const toasts = document.getElementById("toasts");
const held = new Map(); // by what asked: how it asks again
const confirmed = new WeakSet(); // forms whose person is signed in
const state = {
  token: JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"],
  renewing: null,
};

const request = (url, options) =>
  fetch(url, {
    ...options,
    headers: { "HX-Request": "true", "X-CSRFToken": state.token, ...options.headers },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });

// As fetch does; null where the person of this page is not signed in.
export async function ask(url, options = {}) {
  const response = await request(url, options);
  if (!response.headers.has(ENDED)) return response;
  return await renew() ? request(url, options) : null;
}

export function fail(why) {
  const toast = document.getElementById("not-sent").content.firstElementChild.cloneNode(true);
  if (why) toast.querySelector("p").textContent = why;
  toasts.append(toast);
  return toast.querySelector("p");
}

// Whether the person of this page is signed in; what waited for that goes then.
function renew() {
  return (state.renewing ??= takeToken().finally(() => (state.renewing = null)));
}

async function takeToken() {
  const now = await (await request(session, {})).json();
  if (String(now.person ?? "") !== person) return showNotice(now);
  state.token = now.token;
  toasts.querySelector("[data-signs-in]")?.remove();
  dispatchEvent(new Event("signed-in"));
  const waited = [...held.values()];
  held.clear();
  waited.forEach((again) => again());
  return true;
}

function showNotice(now) {
  const present = toasts.querySelector("[data-signs-in]");
  const notice = present ?? document.getElementById("signed-out").content.firstElementChild.cloneNode(true);
  const why = text(now.person ? "signed in as" : "sign in again", now);
  if (notice.dataset.why !== why) notice.dataset.why = notice.querySelector("p").textContent = why;
  notice.elements.csrfmiddlewaretoken.value = now.token;
  if (!present) toasts.append(notice);
  return false;
}

async function signIn(form) {
  if (await renew()) return;
  const answer = await request(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
  form.elements.password.value = "";
  if (answer.type === "opaqueredirect") return renew();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  form.querySelector("p").textContent = page.querySelector("main :is([role=alert], .empty p)").textContent;
}

// Other tabs hear of this one, and it of them; a page that the browser kept may have missed it.
try {
  localStorage.setItem(KEY, signedIn);
} catch {
  // Where the browser keeps nothing, a page hears of it when something is refused.
}
export const refresh = () => person && renew().catch(() => {});
addEventListener("storage", ({ key, newValue }) => key === KEY && newValue !== signedIn && refresh());
addEventListener("pageshow", ({ persisted }) => persisted && refresh());

document.addEventListener("htmx:confirm", ({ detail }) => {
  detail.etc.again = () => detail.issueRequest(true);
});
document.addEventListener(
  "htmx:configRequest",
  ({ detail: { elt, verb, formData, headers, triggeringEvent } }) => {
    headers["X-CSRFToken"] = state.token;
    if (verb === "get") return;
    formData.delete("csrfmiddlewaretoken");
    const { name, value } = triggeringEvent?.submitter ?? {};
    if (name && elt.matches("form") && !formData.has(name)) formData.set(name, value); // not lost with the focus
  },
);
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { elt, etc, xhr, requestConfig: { verb, path, triggeringEvent } } = event.detail;
  if (!person || etc.isAgain || !xhr.getResponseHeader(ENDED)) return;
  event.preventDefault();
  const again = () => ((etc.isAgain = true), etc.again());
  if (verb !== "get" || triggeringEvent?.isTrusted) held.set(elt === document.body ? path : elt, again);
  renew().catch(() => fail());
});

// A form that neither htmx nor the outbox sends leaves the page, and with it what was typed: not before it is sure
// that it will be taken.
const bytesOf = (data) => new Blob([...data.values()].filter((value) => typeof value === "string")).size;
const sizeOf = (form) => {
  const data = new FormData(form);
  return form.enctype === "multipart/form-data" ? bytesOf(data) : String(new URLSearchParams(data)).length;
};
document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (!person || form.method !== "post" || form.matches("[hx-post], [data-outbox]")) return;
  if (confirmed.delete(form)) {
    if (form.elements.csrfmiddlewaretoken) form.elements.csrfmiddlewaretoken.value = state.token;
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  if (form.matches("[data-signs-in]")) return signIn(form).catch(() => fail());
  if (sizeOf(form) > bodyBytes) return fail(text("too large"));
  held.set(form, () => {
    confirmed.add(form);
    form.requestSubmit(submitter?.isConnected ? submitter : undefined);
  });
  renew().catch(() => fail());
}, true);
