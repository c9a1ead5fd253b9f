import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { SignInProblem } from "../../../control-plane/workspaces/session/session-schema.ts";
import { ApiError } from "../../api/errors.ts";
import { meQuery, signIn, signInWaysQuery } from "../../api/session.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/panel.tsx";
import { Weave } from "./weave.tsx";

const route = getRouteApi("/login");

const LOCAL_HOSTS = ["localhost", "127.0.0.1"];

export function LoginPage() {
  const { to, problem } = route.useSearch();
  return (
    <div className="login">
      <title>Sign in - Heddle</title>
      <main className="login-form">
        <div className="row mb-6">
          <Icon name="mark" className="login-mark" />
          <span className="lg b">Heddle</span>
        </div>
        <h1 className="login-h">Sign in</h1>
        <p className="mid mb-5">To {location.host}</p>
        {to !== undefined && to !== "/" && (
          <p className="note mb-4">Sign in to continue where you were.</p>
        )}
        <IssuerLink to={to} problem={problem} />
        <KeyForm to={to} />
      </main>
      <Weave />
    </div>
  );
}

const PROBLEMS: Record<SignInProblem, string> = {
  not_configured: "This installation has no issuer: sign in with a key.",
  unavailable: "The issuer did not answer as expected: try again, or sign in with a key.",
  expired: "The sign-in took longer than ten minutes or began in another browser: start again.",
  denied: "The sign-in was cancelled.",
  no_workspace: "You are a member of no workspace: an admin must add you to one.",
  unknown_user:
    "You are not a member of an organization here: an admin must add your verified email address first.",
};

/** Shows the link to the issuer where one is configured, and the problem of a failed sign-in. */
function IssuerLink({ to, problem }: { to: string | undefined; problem: string | undefined }) {
  const { data } = useQuery(signInWaysQuery);
  const text = Object.entries(PROBLEMS).find(([name]) => name === problem)?.[1];
  const query = to === undefined ? "" : `?${new URLSearchParams({ to })}`;
  return (
    <>
      {text !== undefined && (
        <div className="bad mb-4" role="alert">
          <Icon name="status-failed" small />
          {text}
        </div>
      )}
      {data?.issuer != null && (
        <p className="mb-5">
          <a className="btn pri" href={`/v1/session/issuer${query}`}>
            Sign in with {data.issuer}
          </a>
        </p>
      )}
    </>
  );
}

const KEY_ADVICE = "Check that the whole key was copied and that it is of this region.";

function isUnknownKey(error: Error): boolean {
  return error instanceof ApiError && error.status === 401;
}

function KeyForm({ to }: { to: string | undefined }) {
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const client = useQueryClient();
  const router = useRouter();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key"));
    setBusy(true);
    signIn(key).then(
      (me) => {
        client.clear();
        client.setQueryData(meQuery.queryKey, me);
        router.history.push(`/console${isOwnPath(to) ? to : "/"}`);
      },
      (failure: Error) => {
        setError(failure);
        setBusy(false);
      },
    );
  };
  return (
    <form className="field" onSubmit={submit}>
      <label htmlFor="key">API key</label>
      <div className="row">
        <input
          id="key"
          name="key"
          type="password"
          className="in mono"
          placeholder="lsv2_..."
          autoComplete="off"
          required
          // biome-ignore lint/a11y/noAutofocus: the page is for this field
          autoFocus
          aria-invalid={error !== null}
          aria-describedby="key-hint"
        />
        <button type="submit" className="btn pri" disabled={isBusy}>
          {isBusy ? "Signing in" : "Sign in"}
        </button>
      </div>
      {error && (
        <div className="bad" role="alert">
          <Icon name="status-failed" small />
          {error.message} {isUnknownKey(error) && KEY_ADVICE}
        </div>
      )}
      <KeyHint />
    </form>
  );
}

function KeyHint() {
  return (
    <p className="hint" id="key-hint">
      The key is exchanged once for a session of 12 hours. This browser does not keep it.
      {LOCAL_HOSTS.includes(location.hostname) && (
        <>
          {" "}
          The local stack prints its first key as it starts, and keeps it as <code>api_key</code> in{" "}
          <code>.heddle/local.json</code>.
        </>
      )}
    </p>
  );
}

/** Whether a text is a path to append to `/console`, which begins with one slash. */
function isOwnPath(to: string | undefined): to is string {
  return to !== undefined && /^\/(?![/\\])/.test(to);
}

export function NoWorkspacePage() {
  return (
    <main>
      <Empty title="No workspace" action={<a href="/console/login">Sign in with another key</a>}>
        You are a member of no workspace: an admin must add you to one.
      </Empty>
    </main>
  );
}
