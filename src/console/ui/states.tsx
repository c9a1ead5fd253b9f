import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { ApiError, UnreachableError } from "../api/errors.ts";
import { ZONE, zonedIso } from "../state/time-zone.ts";
import { CopyButton } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";

const SKELETON_MS = 200;

/** Rows in the shape of what loads. Nothing is shown before 200 ms. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SKELETON_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate) return null;
  return (
    <div className="grid gap-5 p-4" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => 88 - index * 5).map((width) => (
        <span key={width} className="sk" style={{ width: `${Math.max(width, 30)}%` }} />
      ))}
    </div>
  );
}

type ErrorProps = {
  /** The failure, such as "The deployments could not be read". */
  what: string;
  error: Error;
  retry?: () => void;
  /** Names what the failure did not affect. */
  intact?: string;
};

/** Shows a failure where its data would be: what failed, the message of the service, and the next step. */
export function ErrorState({ what, error, retry, intact }: ErrorProps) {
  return (
    <div className="note err" role="alert">
      <Icon name="status-failed" />
      <div className="grow">
        <div className="b">{what}.</div>
        <div className="mono sm break-words">{error.message}</div>
        <div className="mid sm mt-1">
          {remedyOf(error)} {intact}
        </div>
        <div className="row mt-2">
          {retry && (
            <button type="button" className="btn sm" onClick={retry}>
              <Icon name="refresh" small /> Try again
            </button>
          )}
          <CopyButton text={reportOf(what, error)} label="Copy the error" showLabel />
        </div>
      </div>
    </div>
  );
}

function remedyOf(error: Error): string {
  if (error instanceof UnreachableError) return "Check the connection.";
  if (!(error instanceof ApiError)) return "Reload the page. Report it if it repeats.";
  if (error.status === 402) return "Settings, Usage and quotas shows what is used.";
  if (error.status === 403) return "Your role or plan does not allow this. An admin can help.";
  if (error.status === 404) return "It was deleted, or is in another workspace.";
  if (error.status === 429) return `Wait ${error.retry_after_s ?? 10} s, then try again.`;
  if (error.status >= 500) return "The service failed. Try again, and report the request id.";
  return "Correct the request and try again.";
}

function reportOf(what: string, error: Error): string {
  const facts =
    error instanceof ApiError
      ? { path: error.path, status: error.status, request_id: error.request_id }
      : { name: error.name };
  return JSON.stringify({ what, message: error.message, ...facts }, null, 2);
}

type QueryStateProps<T> = {
  query: UseQueryResult<T>;
  /** The failure, such as "The deployments could not be read". */
  what: string;
  /** Rows of the skeleton. */
  rows?: number;
  children: (data: T) => ReactNode;
};

/** Shows the state of a read: loading, an error, or data. Data stays visible when a later read fails. */
export function QueryState<T>({ query, what, rows = 6, children }: QueryStateProps<T>) {
  const { data, error, refetch } = query;
  const retry = () => void refetch();
  if (data === undefined && error === null) return <Skeleton rows={rows} />;
  if (data === undefined && error !== null) {
    return <ErrorState what={what} error={error} retry={retry} />;
  }
  return (
    <>
      {error !== null && (
        <div className="mb-3">
          <ErrorState
            what={`${what} again`}
            error={error}
            retry={retry}
            intact={staleText(query)}
          />
        </div>
      )}
      {children(data as T)}
    </>
  );
}

function staleText({ dataUpdatedAt }: { dataUpdatedAt: number }): string {
  return `What you see is from ${zonedIso(new Date(dataUpdatedAt)).slice(11, 19)} ${ZONE}.`;
}
