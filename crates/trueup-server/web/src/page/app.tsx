// The page: sign in, then a question at the top and its answer below.

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { today as currentDay } from "../days";
import { findExtent, firstQuestion, misfitOf, unknownExtent, type Extent } from "../first_question";
import { readLink, writeLink, type Linked } from "../link";
import { showCurrency } from "../format";
import { rowsRequest, settle, totalsRequest, type Question } from "../question";
import { sortRows } from "../rows";
import { exchange, Service } from "../service";
import { keepForReload, takeToken } from "../sign_in_link";
import type { Index } from "../dictionary";
import { AnswerView } from "./answer_view";
import { Chip } from "./chip";
import { QuestionBar } from "./question_bar";
import { ShareMenu, fileName } from "./share_menu";
import { SignIn } from "./sign_in";
import { ThemeSwitch } from "./theme_switch";
import { useAnswer } from "./use_answer";
import { useParquet } from "./use_parquet";

/** The address that requests are relative to: the folder of the page. */
const BASE = new URL(".", location.href).href;

/** The token of the link that opened the page, which leaves the address before the page reads anything else of it. */
const TOKEN = takeToken();

interface Session {
  service: Service;
  index: Index;
  /** What is known about the days of the data when the page opens. */
  extent: Extent;
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
      const asked = questionOf(readLink(location.hash));
      // Days that have no name do not depend on the data.
      const isDated = asked !== null && !("name" in asked.days);
      const extent = await extentOf(service, index, asked?.organization, !isDated);
      // Meanwhile, a link that cannot be used may have been given up.
      const known = readLink(location.hash);
      const question = known ? questionOf(known) : firstQuestion(index, extent);
      if (question && !misfitOf(question, index.dictionary)) {
        const settled = settle(question, index.dictionary, extent.now).question;
        // Asked now, so that the service works while the browser makes the page.
        for (const request of [rowsRequest(settled, index.dictionary), totalsRequest(settled, index.dictionary)]) {
          if (request) service.askAhead(request);
        }
      }
      if (!known) {
        if (question) history.replaceState(null, "", writeLink(question));
        setLinked(question && { question });
      }
      setSession({ service, index, extent });
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
    const question = session && firstQuestion(session.index, await extentOf(session.service, session.index));
    setLinked(null);
    if (question) change(question);
  }, [session, change]);

  const held = questionOf(linked);
  // Which fields there are is known only with a key.
  const misfit = session && held && misfitOf(held, session.index.dictionary);
  const fault = linked && "fault" in linked ? linked.fault : misfit;
  const question = misfit ? null : held;
  return (
    <>
      {!(session && question) && <Top user={session?.index.user} signOut={signOut} />}
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

function questionOf(linked: Linked | null): Question | null {
  return linked && "question" in linked ? linked.question : null;
}

/** Returns the days of the data of an organization, by default the first one. Where they are not needed yet, nothing is asked. */
async function extentOf(service: Service, index: Index, organization = index.organizations[0]?.organization, isNeeded = true): Promise<Extent> {
  const today = currentDay();
  return isNeeded && organization !== undefined ? findExtent(service, organization, today) : unknownExtent("", today);
}

interface ExplorerProps {
  session: Session;
  question: Question;
  change: (question: Question) => void;
  signOut: () => void;
}

function Explorer({ session, question, change, signOut }: ExplorerProps) {
  const { service, index } = session;
  const { dictionary } = index;
  const { now, months } = useExtent(session, question.organization);
  const settled = useMemo(() => settle(question, dictionary, now), [question, dictionary, now]);
  const asked = useAnswer(service, settled.question, dictionary);
  const update = useCallback((part: Partial<Question>) => change({ ...question, ...part }), [question, change]);
  const parquet = useParquet(service, rowsRequest(settled.question, dictionary), fileName(settled.question, "parquet"));
  const { answered, state } = asked;
  const shown = (answered?.question ?? question).organization;
  // Before anything below is drawn.
  showCurrency(index.organizations.find(({ organization }) => organization === shown)?.currency ?? null);
  const sort = answered?.answer.columns.includes(question.sort?.field ?? "") ? question.sort : null;
  const rows = useMemo(() => (answered ? sortRows(answered.answer.rows, sort) : []), [answered, sort?.field, sort?.descending]);
  const current = state.phase === "answered" ? answered : null;
  return (
    <>
      <Top user={index.user} signOut={signOut}>
        <QuestionBar question={question} settled={settled} update={update} index={index} service={service} now={now} months={months} />
        <ShareMenu question={settled.question} answered={current} rows={rows} sort={sort} parquet={parquet} index={index} base={BASE} />
      </Top>
      <main>
        <AnswerView asked={asked} rows={rows} sort={sort} parquet={parquet} question={question} settled={settled} update={update} index={index} service={service} now={now} signOut={signOut} />
      </main>
    </>
  );
}

interface TopProps {
  /** The user who has signed in. */
  user: string | undefined;
  signOut: () => void;
  /** The question, and what can be done with its answer. */
  children?: ComponentChildren;
}

function Top({ user, signOut, children }: TopProps) {
  return (
    <header class="top">
      <h1>trueup</h1>
      {children}
      <div class="user">
        {user === undefined ? (
          <ThemeSwitch />
        ) : (
          <Chip label={user} kind="quiet">
            {() => (
              <>
                <ThemeSwitch />
                <button type="button" onClick={signOut}>
                  Sign out
                </button>
              </>
            )}
          </Chip>
        )}
      </div>
    </header>
  );
}

/** Keeps what is known about the days of the data: it is asked for again for another organization, and on another day. */
function useExtent({ service, extent: first }: Session, organization: string): Extent {
  const [extent, setExtent] = useState(first);
  const today = currentDay();
  const isKnown = extent.organization === organization && extent.now.today === today;
  useEffect(() => {
    if (isKnown) return;
    let isCurrent = true;
    findExtent(service, organization, today).then(
      (found) => isCurrent && setExtent(found),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [service, organization, today, isKnown]);
  return extent;
}
