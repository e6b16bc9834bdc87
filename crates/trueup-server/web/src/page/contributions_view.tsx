// What moved a metric: the contributions of the groups as bars on both sides of zero, each of which breaks down inside itself.

import { useEffect, useState } from "preact/hooks";
import { MAX_LEVELS, breakdownsOf, contributionsOf, type Contribution, type Contributions } from "../contributions";
import type { Dictionary } from "../dictionary";
import { wordsOf } from "../fault_words";
import { formatNumber, formatValue, inRow } from "../format";
import { rowsRequest, type DatedQuestion } from "../question";
import { Fault, type Service } from "../service";

interface Props {
  contributions: Contributions;
  metric: string;
  /** The question of the answer. */
  question: DatedQuestion;
  dictionary: Dictionary;
  service: Service;
}

/** The lowest and the highest end of a bar of the first level, and 0: all levels have one scale. */
interface Scale {
  low: number;
  high: number;
}

export function ContributionsView({ contributions, metric, question, dictionary, service }: Props) {
  const values = [...contributions.shown.flatMap(({ value, effects }) => [value, effects?.rate ?? 0, effects?.mix ?? 0]), contributions.others?.value ?? 0];
  const scale = { low: Math.min(0, ...values), high: Math.max(0, ...values) };
  const level = { dimensions: question.dimensions, group: [] };
  return (
    <div class="contributions">
      <Level contributions={contributions} level={level} scale={scale} metric={metric} question={question} dictionary={dictionary} service={service} depth={1} />
    </div>
  );
}

interface LevelProps extends Props {
  /** The dimensions down to this level, and their values on the way to it. */
  level: { dimensions: string[]; group: string[] };
  scale: Scale;
  depth: number;
}

/** The bars of one level. One of them may be broken down. */
function Level({ contributions, level, scale, depth, ...shared }: LevelProps) {
  const { metric, question, dictionary } = shared;
  const [opened, setOpened] = useState<string | null>(null);
  const next = depth < MAX_LEVELS ? breakdownsOf(question, level.dimensions, metric, dictionary) : [];
  const label = inRow(level.dimensions.map((name) => dictionary.label(name)));
  return (
    <ul class="moved" aria-label={`Contributions by ${label}`}>
      {contributions.shown.map((each) => {
        const key = JSON.stringify(each.group);
        const isOpen = opened === key;
        return (
          <li key={key}>
            <Bar
              contribution={each}
              // A deeper level repeats no value of those above it.
              name={each.label.split(" · ").slice(level.group.length).join(" · ") || each.label}
              scale={scale}
              metric={metric}
              dictionary={dictionary}
              isOpen={isOpen}
              toggle={next.length > 0 ? () => setOpened(isOpen ? null : key) : null}
            />
            {isOpen && <Breakdown parent={each} offered={next} level={level} scale={scale} depth={depth} {...shared} />}
          </li>
        );
      })}
      {contributions.others && (
        <li>
          <Bar
            contribution={{ label: "", group: [], value: contributions.others.value, effects: null, before: null, now: null }}
            name={`${contributions.others.count} other${contributions.others.count === 1 ? "" : "s"} together`}
            scale={scale}
            metric={metric}
            dictionary={dictionary}
            isOpen={false}
            toggle={null}
          />
        </li>
      )}
    </ul>
  );
}

type Found = { of: string; contributions: Contributions } | { of: string; fault: Fault };

/** What one bar is made of, by a dimension that can be chosen. */
function Breakdown({ parent, offered, level, scale, depth, ...shared }: Omit<LevelProps, "contributions"> & { parent: Contribution; offered: string[] }) {
  const { metric, question, dictionary, service } = shared;
  const [by, setBy] = useState(offered[0]!);
  const [found, setFound] = useState<Found | null>(null);
  const dimensions = [...level.dimensions, by];
  // All groups are asked for, and not those of the bar alone: what a ratio contributes refers to the whole.
  const request = rowsRequest({ ...question, dimensions, metrics: [metric] }, dictionary);
  const key = JSON.stringify([request, parent.group]);
  useEffect(() => {
    if (!request) return;
    const controller = new AbortController();
    service.events(request, controller.signal).then(
      ({ rows }) => {
        const inside = rows.filter((row) => parent.group.every((value, index) => row[dimensions[index] ?? ""] === value));
        setFound({ of: key, contributions: contributionsOf(inside, dimensions, metric, dictionary) });
      },
      (error: unknown) => controller.signal.aborted || setFound({ of: key, fault: error instanceof Fault ? error : new Fault("unreadable", "") }),
    );
    return () => controller.abort();
  }, [service, key]);
  const shown = found?.of === key ? found : null;
  return (
    <div class="breakdown">
      <label>
        <span>
          {parent.label}, by
        </span>
        <select value={by} onChange={(event) => setBy(event.currentTarget.value)}>
          {offered.map((name) => (
            <option key={name} value={name}>
              {dictionary.label(name)}
            </option>
          ))}
        </select>
      </label>
      {shown === null && <p class="hint">Loading…</p>}
      {shown && "fault" in shown && <p class="hint" role="alert">{`${wordsOf(shown.fault).title}. ${wordsOf(shown.fault).advice}`}</p>}
      {shown && "contributions" in shown && (
        <Level key={by} contributions={shown.contributions} level={{ dimensions, group: parent.group }} scale={scale} depth={depth + 1} {...shared} />
      )}
    </div>
  );
}

interface BarProps {
  contribution: Contribution;
  name: string;
  scale: Scale;
  metric: string;
  dictionary: Dictionary;
  isOpen: boolean;
  /** `null` if it cannot be broken down. */
  toggle: (() => void) | null;
}

function Bar({ contribution: { value, effects, before, now }, name, scale, metric, dictionary, isOpen, toggle }: BarProps) {
  const change = `${metric}.change`;
  const format = dictionary.get(metric)?.format ?? "number";
  const signed = (number: number) => formatNumber(number, dictionary.get(change)?.format ?? "number");
  const span = scale.high - scale.low || 1;
  const place = (number: number) => ((number - scale.low) / span) * 100;
  const bar = (number: number, kind: string) => (
    <span class={`part ${kind} ${dictionary.judge(change, number)}`} style={{ left: `${place(Math.min(0, number))}%`, width: `${(Math.abs(number) / span) * 100}%` }} />
  );
  const detail = effects ? `own rate ${signed(effects.rate)}, mix ${signed(effects.mix)}` : before !== null || now !== null ? `${formatValue(before, format)} → ${formatValue(now, format)}` : "";
  const label = (
    <span class="label" title={name}>
      {name}
    </span>
  );
  return (
    <div class="bar-row">
      {toggle ? (
        <button type="button" class="label-button" aria-expanded={isOpen} onClick={toggle}>
          {label}
        </button>
      ) : (
        label
      )}
      <span class={effects ? "track double" : "track"} aria-hidden="true" onClick={toggle ?? undefined}>
        <span class="zero" style={{ left: `${place(0)}%` }} />
        {effects ? [bar(effects.rate, "rate"), bar(effects.mix, "mix")] : bar(value, "whole")}
      </span>
      <span class="value">
        <strong>{signed(value)}</strong> <small>{detail}</small>
      </span>
    </div>
  );
}
