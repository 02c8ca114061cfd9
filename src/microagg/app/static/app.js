// What pages cannot do by themselves: tell how far work is, save while somebody chooses, take a file
// that is dropped, copy. Everything else works without it.
"use strict";

document.documentElement.classList.add("scripted");
const token = document.body.dataset.csrf;
const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Jobs: asked for as long as one is under way; the page is loaded again once it is done.
const underWay = () => all('[data-job]').filter((job) => ["waiting", "running"].includes(job.dataset.status));

function show(section, job) {
  find("progress", section).value = job.share;
  const words = job.status === "waiting" ? "waiting" : job.words;
  const line = find(".words", section);
  const told = `${words}${job.seconds > 2 ? `, ${job.seconds} s` : ""}`;
  if (line.textContent !== told) line.textContent = told;
}

async function ask() {
  try {
    const answer = await fetch("/jobs");
    if (!answer.ok) return;
    const jobs = await answer.json();
    for (const section of underWay()) {
      const job = jobs.find((each) => String(each.number) === section.dataset.job);
      if (!job || !["waiting", "running"].includes(job.status)) {
        leaving = true;
        location.reload();
        return;
      }
      show(section, job);
    }
  } catch (problem) {
    const line = find(".words", underWay()[0]);
    if (line) line.textContent = "the app does not answer; is it still running?";
  }
  if (underWay().length) setTimeout(ask, 500);
}

let leaving = false;
if (underWay().length) setTimeout(ask, 300);

// Forms that save while somebody chooses, and say what that means.
function fill(told) {
  const put = (selector, text) => {
    const place = find(selector);
    if (place && text !== undefined && place.textContent !== text) place.textContent = text;
  };
  put("#live", told.alone);
  put("#alone-now small", told.alone);
  put("#k-sentence", told.k);
  put("#promise-now", told.now);
  put("#live-problem", told.problem);
  if (told.command !== undefined) {
    put("#said-command code", told.command);
    put("#said-recipe code", told.recipe);
  }
}

for (const form of all("form[data-live]")) {
  let running = false;
  let again = false;
  const save = async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(form.dataset.live, {
        method: "POST",
        headers: { accept: "application/json" },
        body,
      });
      if (answer.ok && !leaving) fill(await answer.json());
    } catch (problem) {
      // The next change tries again.
    }
    running = false;
    if (again) {
      again = false;
      save();
    }
  };
  let waiting;
  const soon = (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(save, event.type === "input" ? 350 : 0);
  };
  form.addEventListener("change", soon);
  form.addEventListener("input", soon);
  if (form.id === "roles" && find("#live").textContent.startsWith("Counting")) save();
}

// A list of categories is for ordinal columns only.
for (const select of all(".kind-cell select")) {
  const order = find(".order", select.parentElement);
  select.addEventListener("change", () => {
    order.hidden = select.value !== "ordinal";
  });
}

for (const button of all("[data-k]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const field = find("#k");
    field.value = button.dataset.k;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

// Copy.
for (const button of all("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = find("code", button.closest("figure"));
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch (problem) {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

// Upload: a file that is dropped anywhere on the page, with a bar.
const drop = find("#drop");
if (drop) {
  const line = find(".words", drop);
  const bar = find("progress", drop);
  const send = (file) => {
    if (!file) return;
    drop.closest("details")?.setAttribute("open", "");
    if (file.size > Number(drop.dataset.largest)) {
      line.textContent = "This file is larger than may be uploaded; open it by its path, or start the app with --max-upload.";
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", drop.action);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.setRequestHeader("x-csrf", token);
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
    request.upload.addEventListener("progress", (event) => {
      bar.hidden = false;
      bar.value = event.total ? event.loaded / event.total : 0;
      line.textContent = `uploading, ${Math.round(100 * bar.value)} %`;
    });
    request.addEventListener("load", () => {
      leaving = true;
      location.href = request.responseURL || "/";
      if (location.pathname === new URL(request.responseURL || "/", location).pathname) location.reload();
    });
    request.addEventListener("error", () => { line.textContent = "The upload failed; try again."; });
    request.send(file);
  };
  drop.addEventListener("submit", (event) => {
    event.preventDefault();
    send(find("#file").files[0]);
  });
  find("#file").addEventListener("change", (event) => send(event.target.files[0]));
  const files = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  addEventListener("dragover", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    drop.classList.remove("over");
    send(event.dataTransfer.files[0]);
  });
}
