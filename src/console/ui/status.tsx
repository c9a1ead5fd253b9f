import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";
import type { StatusKind } from "./icons/status-kind.ts";

const TONES: Record<StatusKind, string> = {
  ok: "ok",
  failed: "err",
  running: "run",
  waiting: "wait",
  queued: "idle",
  idle: "idle",
  skipped: "idle",
  cancelled: "idle",
  "timed-out": "err",
  preview: "prev",
  canary: "wait",
  partial: "wait",
};

type Props = {
  kind: StatusKind;
  children: ReactNode;
  /** Omits the filled background, for the normal state in a list. */
  plain?: boolean;
};

/** A shape and a word. The colour adds no information, so that it is not needed to read a status. */
export function Status({ kind, children, plain = false }: Props) {
  return (
    <span className={`badge ${TONES[kind]} ${plain ? "plain" : ""}`}>
      <StatusIcon kind={kind} />
      {children}
    </span>
  );
}

export function StatusIcon({ kind }: { kind: StatusKind }) {
  const name: IconName = `status-${kind}`;
  return <Icon name={name} className={kind === "running" ? "spin" : ""} />;
}

/** The class that colours text by a status. */
export function toneOf(kind: StatusKind): string {
  return TONES[kind];
}
