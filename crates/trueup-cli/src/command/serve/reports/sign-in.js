// Asks for the report of the address with the key of the form, and shows it. The key is kept nowhere.
"use strict";
const parameters = new URLSearchParams(location.search);
const month = document.getElementById("month");
const said = document.getElementById("said");
month.value = parameters.get("month") ?? "";
document.getElementById("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  parameters.set("month", month.value);
  said.textContent = "The report is being made.";
  try {
    const headers = { Authorization: document.getElementById("key").value.trim() };
    const answer = await fetch(`${location.pathname}?${parameters}`, { headers });
    if (answer.ok) {
      location.assign(URL.createObjectURL(await answer.blob()));
    } else {
      said.textContent = (await answer.json()).error;
    }
  } catch {
    said.textContent = "The server did not answer. Try again.";
  }
});
