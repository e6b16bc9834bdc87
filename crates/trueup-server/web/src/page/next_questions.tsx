// Questions that people have next, each a click away.

import { useState } from "preact/hooks";
import { withBenchmarks } from "../benchmarks";
import type { Now } from "../days";
import type { Dictionary } from "../dictionary";
import type { DatedQuestion, Question } from "../question";
import type { Service } from "../service";
import { closedLeads, leastReturn, spendRequest } from "../suggestions";

interface Props {
  question: DatedQuestion;
  update: (part: Partial<Question>) => void;
  dictionary: Dictionary;
  service: Service;
  now: Now;
}

export function NextQuestions({ question, update, dictionary, service, now }: Props) {
  const [fault, setFault] = useState("");
  const askForReturn = async () => {
    const request = spendRequest(question, now, dictionary);
    if (!request) return;
    try {
      const { rows } = await service.events(request);
      setFault("");
      update(leastReturn(question, rows, now, dictionary));
    } catch {
      setFault("The campaigns could not be loaded. Try again.");
    }
  };
  return (
    <nav class="next" aria-label="Next questions">
      {dictionary.offers("roasClosed") && (
        <button type="button" onClick={askForReturn}>
          Which campaigns return least?
        </button>
      )}
      {dictionary.offers("closedRevenue") && (
        <button type="button" onClick={() => update(closedLeads(question, dictionary))}>
          Which leads became revenue?
        </button>
      )}
      {!question.benchmarks && (
        <button type="button" onClick={() => update(withBenchmarks(question))}>
          How do similar businesses do?
        </button>
      )}
      <p class="fault" role="alert">
        {fault}
      </p>
    </nav>
  );
}
