// The page: sign in, then a question on one side and its answer on the other.

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { today as currentDay } from "../days";
import { firstQuestion, misfitOf } from "../first_question";
import { readLink, writeLink, type Linked } from "../link";
import { rowsRequest, totalsRequest, type Question } from "../question";
import { exchange, Service } from "../service";
import { keepForReload, takeToken } from "../sign_in_link";
import type { Index } from "../dictionary";
import { AnswerView } from "./answer_view";
import { QuestionPanel } from "./question_panel";
import { SignIn } from "./sign_in";
import { ThemeSwitch } from "./theme_switch";
import { useAnswer } from "./use_answer";

/** The address that requests are relative to: the folder of the page. */
const BASE = new URL(".", location.href).href;

/** The token of the link that opened the page, which leaves the address before the page reads anything else of it. */
const TOKEN = takeToken();

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
      const today = currentDay();
      const known = readLink(location.hash);
      const question = known ? ("question" in known ? known.question : null) : await firstQuestion(service, index, today);
      if (question && !misfitOf(question, index.dictionary)) {
        // Asked now, so that the service works while the browser makes the page.
        for (const request of [rowsRequest(question, index.dictionary, today), totalsRequest(question, index.dictionary, today)]) {
          if (request) service.askAhead(request);
        }
      }
      if (!known) {
        if (question) history.replaceState(null, "", writeLink(question));
        setLinked(question && { question });
      }
      setSession({ service, index });
    },
    [],
  );

  const signInByLink = useCallback(async () => {
    if (TOKEN === null) return;
    const { key, next } = await exchange(TOKEN, BASE);
    keepForReload(next);
    await signIn(key);
  }, [signIn]);

  const signOut = useCallback(() => {
    keepForReload(null);
    setSession(null);
  }, []);

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
          <button type="button" class="quiet" onClick={signOut}>
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
      {!session && <SignIn signIn={signIn} signInByLink={TOKEN === null ? null : signInByLink} hasQuestion={question !== null} />}
      {session && question && <Explorer session={session} question={question} change={change} signOut={signOut} />}
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
