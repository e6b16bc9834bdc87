// What can be taken from the page: the answer as files, the question as code and as a link.

import { useState } from "preact/hooks";
import { toCsv } from "../csv";
import type { Index } from "../dictionary";
import { count } from "../format";
import type { DatedQuestion, Row, Sort } from "../question";
import { Chip } from "./chip";
import { CopyDialog } from "./copy_dialog";
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

export function ShareMenu({ question, answered, rows, sort, parquet, index, base }: Props) {
  const [isCopying, setCopying] = useState(false);
  const isExporting = parquet.state.phase === "asking";
  return (
    <>
      <Chip label="Share" kind="primary">
        {(close) => (
          <ul class="options">
            <li>
              <button
                type="button"
                disabled={!answered}
                onClick={() => {
                  close();
                  if (answered) saveFile(fileName(question, "csv"), "text/csv;charset=utf-8", toCsv(answered.answer.columns, rows));
                }}
              >
                Export CSV
              </button>
            </li>
            <li>
              <button type="button" disabled={!answered || isExporting} onClick={parquet.save}>
                {isExporting ? "Exporting…" : "Export Parquet"}
              </button>
            </li>
            <li>
              <button
                type="button"
                disabled={question.metrics.length === 0}
                onClick={() => {
                  close();
                  setCopying(true);
                }}
              >
                Copy link or code…
              </button>
            </li>
            {answered && <li class="hint">{`${count(rows.length, "row")}, answered in ${Math.round(answered.answer.milliseconds)} ms`}</li>}
          </ul>
        )}
      </Chip>
      {isCopying && <CopyDialog question={answered ? { ...question, sort } : question} index={index} base={base} close={() => setCopying(false)} />}
    </>
  );
}

export function fileName({ organization, days }: DatedQuestion, ending: string): string {
  return `${organization}-${days.start}-${days.end}.${ending}`.replace(/[^\w.-]+/g, "-");
}
