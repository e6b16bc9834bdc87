// What can be sent to others: a link, a picture, paper, files, and the question as code.

import { useState } from "preact/hooks";
import { toCsv } from "../csv";
import type { Index } from "../dictionary";
import { count } from "../format";
import type { DatedQuestion, Row, Sort } from "../question";
import { namedColumns } from "../rows";
import { sheetFault, toXlsx, XLSX } from "../xlsx";
import { Chip } from "./chip";
import { CopyDialog } from "./copy_dialog";
import { pictureOf } from "./picture";
import { saveFile } from "./save_file";
import type { Answered } from "./use_answer";
import type { ParquetExport } from "./use_parquet";

interface Props {
  question: DatedQuestion;
  /** The answer to the question; `null` while there is none. */
  answered: Answered | null;
  /** The rows of the answer in the order of the table. */
  rows: Row[];
  sort: Sort | null;
  parquet: ParquetExport;
  index: Index;
  base: string;
}

/** The element that a picture shows: heading, figures and chart; and what of it is no part of a picture. */
export const PICTURED = "pictured";
const NOT_PICTURED = ".next, .how, .tip, .breakdown label, .band-table";

export function ShareMenu({ question, answered, rows, sort, parquet, index, base }: Props) {
  const [isCopying, setCopying] = useState(false);
  const [said, setSaid] = useState("");
  const isExporting = parquet.state.phase === "asking";
  const picture = () => {
    const part = document.getElementById(PICTURED);
    return part ? pictureOf(part, NOT_PICTURED) : Promise.reject(new Error("there is no answer"));
  };
  const say = (done: Promise<unknown>, what: string) =>
    done.then(
      () => setSaid(what),
      () => setSaid("The browser does not allow it"),
    );
  const exportXlsx = ({ answer, totals }: Answered) => {
    const fault = sheetFault(rows);
    if (fault) return setSaid(fault);
    const made = toXlsx(namedColumns(answer.columns, index.dictionary), rows, totals, index.dictionary);
    say(made.then((file) => saveFile(fileName(question, "xlsx"), XLSX, file)), "XLSX saved");
  };
  const items: { label: string; isOff: boolean; isLast?: boolean; take: () => void }[] = [
    { label: "Copy link", isOff: false, take: () => say(navigator.clipboard.writeText(location.href), "Link copied: it needs a key of their own") },
    // The picture is made while the browser waits for it, because a click allows to copy only for a moment.
    { label: "Copy image", isOff: !answered, take: () => say(copyPicture(picture()), "Image copied") },
    { label: "Save image", isOff: !answered, take: () => say(picture().then((file) => saveFile(fileName(question, "png"), file.type, file)), "Image saved") },
    { label: "Print or save as PDF", isOff: !answered, isLast: true, take: () => print() },
    {
      label: "Export CSV",
      isOff: !answered,
      isLast: true,
      take: () => answered && saveFile(fileName(question, "csv"), "text/csv;charset=utf-8", toCsv(answered.answer.columns, rows)),
    },
    { label: "Export XLSX", isOff: !answered, take: () => answered && exportXlsx(answered) },
    { label: isExporting ? "Exporting…" : "Export Parquet", isOff: !answered || isExporting, take: parquet.save },
    { label: "Copy as code…", isOff: question.metrics.length === 0, isLast: true, take: () => setCopying(true) },
  ];
  return (
    <>
      <Chip label="Share" kind="primary">
        {(close) => (
          <>
            <ul class="options">
              {items.map(({ label, isOff, isLast, take }) => (
                <li key={label}>
                  <button
                    type="button"
                    disabled={isOff}
                    onClick={() => {
                      setSaid("");
                      if (isLast) close();
                      take();
                    }}
                  >
                    {label}
                  </button>
                </li>
              ))}
            </ul>
            <p class="hint" role="status">
              {said || (answered ? `${count(rows.length, "row")}, answered in ${Math.round(answered.answer.milliseconds)} ms` : "")}
            </p>
          </>
        )}
      </Chip>
      {isCopying && <CopyDialog question={answered ? { ...question, sort } : question} index={index} base={base} close={() => setCopying(false)} />}
    </>
  );
}

async function copyPicture(picture: Promise<Blob>): Promise<void> {
  await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
}

export function fileName({ organization, days }: DatedQuestion, ending: string): string {
  return `${organization}-${days.start}-${days.end}.${ending}`.replace(/[^\w.-]+/g, "-");
}
