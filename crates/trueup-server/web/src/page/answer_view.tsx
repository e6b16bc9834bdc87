// The answer: how it went, the chart, and the table.

import { useEffect, useMemo, useState } from "preact/hooks";
import { bandOf, benchmarkScope, noBenchmarks, type Band } from "../benchmarks";
import { chartOf, chartedMetric, isSingle } from "../chart";
import { contributionsOf } from "../contributions";
import { ATTRIBUTION_WINDOW, countDays, describeDays, formatMonth, type Now } from "../days";
import { OPEN_LEADS, type Index } from "../dictionary";
import { wordsOf } from "../fault_words";
import { monthsWithData } from "../first_question";
import { count } from "../format";
import { monthsRequest, rowsRequest, type DatedQuestion, type Question, type Row, type Settled, type Sort } from "../question";
import { namedColumns, tableColumns } from "../rows";
import type { Service } from "../service";
import { headlineOf, standingHeadline, subtitleOf, targetHeadline, titleOf } from "../summary";
import { textWidth } from "../text_width";
import { ChartView } from "./chart_view";
import { CohortMap, OPEN_MARK } from "./cohort_map";
import { DataTable } from "./data_table";
import { DrillDialog } from "./drill_dialog";
import { FaultNotice } from "./fault_notice";
import { NextQuestions } from "./next_questions";
import { PivotTable } from "./pivot_table";
import { TableBar } from "./table_bar";
import { PICTURED } from "./share_menu";
import { StandingView } from "./standing_view";
import { Tiles } from "./tiles";
import type { Answered, Asked } from "./use_answer";
import { MONTHS, useMonths } from "./use_months";
import { useBenchmarks } from "./use_benchmarks";
import type { ParquetExport } from "./use_parquet";

/** The most rows that the table shows the months of. */
const MAX_TRENDS = 300;

interface Props {
  asked: Asked;
  /** The rows of the answer in the order of the table. */
  rows: Row[];
  sort: Sort | null;
  parquet: ParquetExport;
  question: Question;
  settled: Settled;
  update: (part: Partial<Question>) => void;
  index: Index;
  service: Service;
  now: Now;
  signOut: () => void;
}

export function AnswerView({ asked, rows, sort, parquet, question: chosen, settled, update, index, service, now, signOut }: Props) {
  const { state, answered } = asked;
  const { question, leftOut } = settled;
  const { dictionary } = index;
  const [areAllColumns, setAllColumns] = useState(false);
  const [lookedInto, setLookedInto] = useState<{ row: Row; column: string; of: Answered } | null>(null);
  // The order of the table and the metric of the chart are not part of what was asked.
  const shown = useMemo(() => answered && { ...answered.question, sort, charted: question.charted }, [answered, sort?.field, sort?.descending, question.charted]);
  // Bars are in the order of the table; lines have an order of their own.
  const chartRows = shown?.interval === "total" ? rows : answered?.answer.rows;
  const chart = useMemo(
    () => (answered && shown && chartRows ? chartOf(shown, shown.days, chartRows, dictionary, answered) : { kind: "none" as const }),
    [answered, shown, chartRows, dictionary],
  );
  const columns = useMemo(
    () => (answered ? tableColumns(namedColumns(answered.answer.columns, dictionary), answered.answer.rows, answered.totals, dictionary, textWidth(), areAllColumns) : []),
    [answered, dictionary, areAllColumns],
  );
  const isStale = state.phase !== "answered" && answered !== null;
  const isEmpty = answered !== null && state.phase === "answered" && hasNoData(answered.question, answered.answer.rows);
  // A single row is its own total.
  const totals = answered && (answered.totals ?? (shown?.interval === "total" && shown.dimensions.length === 0 ? (answered.answer.rows[0] ?? null) : null));
  // When the question changes, the page is drawn once before the state says so.
  const requestOf = (of: DatedQuestion) => JSON.stringify(rowsRequest(of, dictionary));
  const isCurrent = !isStale && answered !== null && requestOf(answered.question) === requestOf(question);
  const standing = useStanding(service, shown && question.benchmarks && shown.interval === "total" ? shown : null, dictionary, isCurrent);
  const isPivot = question.pivot && shown !== null && shown.interval !== "total" && shown.dimensions.length > 0;
  const trend = shown ? trendOf(shown, rows) : null;
  const monthly = useMonths(service, shown && trend !== null ? monthsRequest({ ...shown, metrics: [trend] }, dictionary, MONTHS, shown.dimensions) : null, shown?.dimensions ?? []);
  const hasRows = rows.length > 0 && !isEmpty;
  // Nothing can be done with what a question that failed has left on the screen.
  const frame = { class: isStale ? "answer stale" : "answer", "aria-busy": state.phase === "asking", inert: isStale && state.phase !== "asking" };

  return (
    <>
      <Progress asked={asked} />
      {state.phase === "fault" && <FaultNotice fault={state.fault} at={state.at} askAgain={asked.askAgain} signOut={signOut} update={update} />}
      {parquet.state.phase === "fault" && <FaultNotice fault={parquet.state.fault} at={parquet.state.at} askAgain={parquet.save} signOut={signOut} update={update} />}
      {state.phase === "incomplete" && (
        <section class="notice">
          <h2>Choose a metric</h2>
          <p>{leftOut.length > 0 ? notSplit(leftOut, question, index) : "A question needs at least one metric, such as Leads."}</p>
        </section>
      )}
      {state.phase === "canceled" && (
        <section class="notice">
          <h2>Stopped</h2>
          <p>
            <button type="button" onClick={asked.askAgain}>
              Ask again
            </button>
          </p>
        </section>
      )}
      {isEmpty && <NoData question={question} update={update} service={service} today={now.today} />}
      {answered && answered.answer.unknownFields.length > 0 && (
        <section class="notice" role="alert">
          <h2>Unknown fields</h2>
          <p>Neither the dictionary nor the data has {answered.answer.unknownFields.map((name) => `“${name}”`).join(", ")}: such a column is empty on every row. Check the spelling.</p>
        </section>
      )}
      {answered && shown && hasRows && (
        <div id={PICTURED} {...frame}>
          <Heading question={shown} rows={rows} totals={totals} bands={standing.bands} index={index} />
          <NextQuestions question={shown} update={update} dictionary={dictionary} service={service} now={now} />
          {leftOut.length > 0 && <p class="hint">{notSplit(leftOut, question, index)}</p>}
          {settled.isDivided && <p class="hint">More than {ATTRIBUTION_WINDOW} days are shown by month.</p>}
          {totals && shown.interval === "total" && (
            <Tiles question={shown} totals={totals} bands={standing.bands} charted={chartedMetric(shown)} choose={(metric) => update({ charted: metric })} dictionary={dictionary} service={service} />
          )}
          {totals && standing.bands.size > 0 && <StandingView question={shown} totals={totals} bands={standing.bands} dictionary={dictionary} />}
          {standing.hint && <p class="hint">{standing.hint}</p>}
          {shown.within !== null && shown.interval !== "total" && (
            <CohortMap question={shown} range={shown.days} charted={question.charted} update={update} dictionary={dictionary} service={service} />
          )}
          <ChartView
            chart={chart}
            question={shown}
            update={update}
            dictionary={dictionary}
            totals={totals}
            benchmarks={question.benchmarks}
            isCurrent={isCurrent}
            service={service}
            today={now.today}
          />
        </div>
      )}
      <TableBar question={chosen} settled={settled} update={update} dictionary={dictionary} areAllColumns={areAllColumns} setAllColumns={setAllColumns} />
      {answered && shown && hasRows && (
        <div {...frame}>
          {isPivot ? (
            <PivotTable question={shown} sort={question.sort} rows={answered.answer.rows} update={update} dictionary={dictionary} service={service} onLookInto={(row, column) => setLookedInto({ row, column, of: answered })} />
          ) : (
            <DataTable
              columns={columns}
              rows={rows}
              totals={answered.totals}
              dictionary={dictionary}
              sort={sort}
              trend={trend === null ? null : { metric: trend, monthly }}
              onSort={(sorted) => update({ sort: sorted, charted: null })}
              onLookInto={(row, column) => setLookedInto({ row, column, of: answered })}
            />
          )}
          {lookedInto?.of === answered && !isStale && (
            // It closes when the question changes, as by Back: the row is one of the earlier question.
            // A dialog says late that it was closed: by then the next row may have been opened, in a dialog of its own.
            <DrillDialog
              key={lookedInto}
              row={lookedInto.row}
              column={lookedInto.column}
              question={shown}
              range={shown.days}
              service={service}
              dictionary={dictionary}
              update={update}
              close={() => setLookedInto((opened) => (opened === lookedInto ? null : opened))}
            />
          )}
          {answered.answer.notes.map((note) => (
            <p key={note} class="hint">
              {note}.
            </p>
          ))}
          {shown.within !== null && rows.some((row) => row[OPEN_LEADS] !== 0) && (
            <p class="hint">
              {OPEN_MARK} The window of some leads of the row is not over: its numbers may still change.
            </p>
          )}
          {!isPivot && shown.within === null && shown.interval !== "total" && countDays(shown.days) > ATTRIBUTION_WINDOW && (
            <p class="hint">There is no total: the service computes one figure for at most {ATTRIBUTION_WINDOW} days, and figures of intervals do not add up.</p>
          )}
        </div>
      )}
    </>
  );
}

/** Says what the answer shows: how a metric changed and why, or else what it is; then its days, accounts and conditions. */
function Heading({ question, rows, totals, bands, index }: { question: DatedQuestion; rows: Row[]; totals: Row | null; bands: Map<string, Band>; index: Index }) {
  const metric = chartedMetric(question) ?? "";
  const contributions = useMemo(() => contributionsOf(question.compare === null || question.interval !== "total" ? [] : rows, question.dimensions, metric, index.dictionary), [question, rows, metric, index]);
  return (
    <header class="heading">
      <h2>{(totals && (standingHeadline(totals, bands, index) ?? targetHeadline(question, metric, totals, index) ?? headlineOf(question, metric, totals, contributions, index))) ?? titleOf(question, metric, index)}</h2>
      <p>{subtitleOf(question, index).join(" · ")}</p>
    </header>
  );
}

/** Asks where an answer stands among similar businesses, all of its rows together; `hint` says why it stands nowhere. */
function useStanding(service: Service, question: DatedQuestion | null, dictionary: Index["dictionary"], isCurrent: boolean): { bands: Map<string, Band>; hint: string } {
  const whole = question && { ...question, dimensions: [] };
  const scope = whole && benchmarkScope(whole, dictionary);
  const metrics = question?.metrics.filter((name) => dictionary.get(name)?.hasBenchmarks) ?? [];
  const month = question?.days.start.slice(0, 7) ?? "";
  const { byMonth, isWhole, fault } = useBenchmarks(service, scope, metrics, [month], isCurrent);
  const rows = byMonth.get(month) ?? [];
  const bands = new Map(
    metrics.flatMap((metric) => {
      const band = bandOf(rows, metric, [], []);
      return band ? [[metric, band] as const] : [];
    }),
  );
  if (!whole || bands.size > 0) return { bands, hint: "" };
  if (!scope || metrics.length === 0) return { bands, hint: noBenchmarks(metrics[0] ?? whole.metrics[0] ?? "", whole, dictionary) };
  if (fault) return { bands, hint: `${wordsOf(fault).title}. ${wordsOf(fault).advice}` };
  return { bands, hint: isWhole ? "There are no benchmarks of this month: there are too few other accounts to compare with." : "Loading similar businesses…" };
}

/** Returns the metric of which the table shows the months; `null` where there are none, or too many rows for them. */
function trendOf(question: DatedQuestion, rows: Row[]): string | null {
  const hasGroups = question.interval === "total" && question.dimensions.length > 0 && !isSingle(question.dimensions);
  return hasGroups && rows.length <= MAX_TRENDS ? (chartedMetric(question) ?? null) : null;
}

/** Says which metrics are left out, because each row would show the spend of all. */
function notSplit(leftOut: string[], { dimensions }: Question, { dictionary }: Index): string {
  const labels = (names: string[]) => names.map((name) => dictionary.label(name)).join(", ");
  return `Not by ${labels(dimensions.filter((name) => dictionary.repeatsSpend([name])))}: ${labels(leftOut)}. Spend is not recorded by it, so that each row would show all of it.`;
}

/** Says that an answer takes long, and lets the user stop it. Those who do not see the table hear when it is there. */
function Progress({ asked: { state, answered, cancel } }: { asked: Asked }) {
  const [now, setNow] = useState(0);
  const since = state.phase === "asking" ? state.since : null;
  useEffect(() => {
    if (since === null) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [since]);
  const waited = since === null ? 0 : now - since;
  let text = "";
  if (since !== null && waited > 400) text = "Loading…";
  if (state.phase === "answered" && answered) text = count(answered.answer.rows.length, "row");
  return (
    <div class={waited > 400 ? "progress" : "progress unseen"}>
      <p role="status">{text}</p>
      {waited > 400 && (
        <>
          {waited > 1_500 && <span aria-hidden="true">{Math.floor(waited / 1_000)} s</span>}
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        </>
      )}
    </div>
  );
}

/** Says that there is nothing on these days, and where there is something. */
function NoData({ question, update, service, today }: { question: Question; update: Props["update"]; service: Service; today: string }) {
  const [months, setMonths] = useState<{ start: string; end: string }[] | null>(null);
  useEffect(() => {
    let isCurrent = true;
    monthsWithData(service, question.organization, question.accounts, today).then(
      (found) => isCurrent && setMonths(found),
      () => isCurrent && setMonths([]),
    );
    return () => {
      isCurrent = false;
    };
  }, [service, question.organization, question.accounts, today]);
  const newest = months?.at(-1);
  return (
    <section class="notice">
      <h2>No data for this question</h2>
      <p>
        Nothing was found for {describeDays(question.days)}
        {question.conditions.length > 0 && " with these filters"}.
        {newest && months?.[0] && ` There are events from ${formatMonth(months[0].start)} to ${formatMonth(newest.end)}.`}
      </p>
      {newest && (
        <p>
          <button type="button" onClick={() => update({ days: newest })}>
            Show {formatMonth(newest.start)}
          </button>
        </p>
      )}
    </section>
  );
}

/** Returns whether there is nothing to show. Without dimensions there are rows even where nothing happened. */
function hasNoData({ dimensions, metrics }: Question, rows: Row[]): boolean {
  if (dimensions.length > 0) return rows.length === 0;
  return rows.every((row) => metrics.every((metric) => (row[metric] ?? 0) === 0 && (row[`${metric}.previous`] ?? 0) === 0));
}
