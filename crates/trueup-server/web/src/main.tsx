// Puts the page into its document.

import { render } from "preact";
import { App } from "./page/app";
import "./style.css";

const page = document.getElementById("page");
if (page) {
  page.replaceChildren();
  render(<App />, page);
}
