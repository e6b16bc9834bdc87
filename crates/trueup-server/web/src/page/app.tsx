// The page: sign in, then a question on one side and its answer on the other.

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { today as currentDay } from "../days";
import { firstQuestion, misfitOf } from "../first_question";
import { readLink, writeLink, type Linked } from "../link";
import { Service } from "../service";
import type { Index } from "../dictionary";
import type { Question } from "../question";
import { AnswerView } from "./answer_view";
import { QuestionPanel } from "./question_panel";
import { SignIn } from "./sign_in";
import { ThemeSwitch } from "./theme_switch";
import { useAnswer } from "./use_answer";

/** The address that requests are relative to: the folder of the page. */
const BASE = new URL(".", location.href).href;

interface Session {
  service: Service;
  index: Index;
}

export function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [linked, setLinked] = useState<Linked | null>(() => readLink(location.hash));

  useEffect(() => {
    const reread = () => setLinked(readLink(location.hash));
    addEventListener("popstate", reread);
    return () => removeEventListener("popstate", reread);
  }, []);

  const signIn = useCallback(
    async (key: string) => {
      const service = new Service(key, BASE);
      const index = await service.index();
      if (!readLink(location.hash)) {
        const question = await firstQuestion(service, index, currentDay());
        if (question) history.replaceState(null, "", writeLink(question));
        setLinked(question && { question });
      }
      setSession({ service, index });
    },
    [],
  );

  const change = useCallback((question: Question) => {
    const link = writeLink(question);
    if (link !== location.hash) history.pushState(null, "", link);
    setLinked({ question });
  }, []);

  const startOver = useCallback(async () => {
    history.replaceState(null, "", location.pathname);
    const question = session && (await firstQuestion(session.service, session.index, currentDay()));
    setLinked(null);
    if (question) change(question);
  }, [session, change]);

  const held = linked && "question" in linked ? linked.question : null;
  // Which fields there are is known only with a key.
  const misfit = session && held && misfitOf(held, session.index.dictionary);
  const fault = linked && "fault" in linked ? linked.fault : misfit;
  const question = misfit ? null : held;
  return (
    <>
      <header class="top">
        <h1>
          trueup <span>explore</span>
        </h1>
        {session && (
          <p class="user" title="The user whose key you signed in with">
            {session.index.user}
          </p>
        )}
        <ThemeSwitch />
        {session && (
          <button type="button" class="quiet" onClick={() => setSession(null)}>
            Sign out
          </button>
        )}
      </header>
      {fault && (
        <section class="notice bad" role="alert">
          <h2>This link does not hold a question</h2>
          <p>It cannot be used: {fault}.</p>
          <p>
            <button type="button" onClick={startOver}>
              Start with a new question
            </button>
          </p>
        </section>
      )}
      {!session && <SignIn signIn={signIn} hasQuestion={question !== null} />}
      {session && question && <Explorer session={session} question={question} change={change} signOut={() => setSession(null)} />}
      {session && !question && !fault && (
        <section class="notice" role="alert">
          <h2>Your key reaches no account</h2>
          <p>Ask the operator of the service to grant {session.index.user} an organization or an account.</p>
        </section>
      )}
    </>
  );
}

interface ExplorerProps {
  session: Session;
  question: Question;
  change: (question: Question) => void;
  signOut: () => void;
}

function Explorer({ session: { service, index }, question, change, signOut }: ExplorerProps) {
  const today = useMemo(() => currentDay(), [question]);
  const asked = useAnswer(service, question, index.dictionary, today);
  const update = useCallback((part: Partial<Question>) => change({ ...question, ...part }), [question, change]);
  return (
    <div class="explorer">
      <QuestionPanel question={question} update={update} index={index} service={service} today={today} />
      <main>
        <AnswerView asked={asked} question={question} update={update} index={index} service={service} base={BASE} today={today} signOut={signOut} />
      </main>
    </div>
  );
}
