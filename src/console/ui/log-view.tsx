import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { zonedIso } from "../state/time-zone.ts";

export type LogEntry = {
  id: string;
  /** Counted from 1. */
  number: number;
  timestamp: string;
  level: string;
  message: string;
};

type Props = {
  label: string;
  lines: LogEntry[];
  /** Keeps the end in view until the reader scrolls up. */
  isFollowing?: boolean;
  onScrolledUp?: () => void;
  /** Number of the line that is scrolled into view and highlighted. */
  target?: number | undefined;
  className?: string;
};

const LINE_PX = 20;
const OVERSCAN = 12;
const NEAR_END_PX = 30;
/** Characters of a message that are shown at first. */
const MAX_SHOWN = 5000;

/** Lines of a log. Only lines in view are in the document. Screen readers do not announce new ones. */
export function LogView({
  label,
  lines,
  isFollowing = false,
  onScrolledUp,
  target,
  ...rest
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: OVERSCAN,
    getItemKey: (index) => lines[index]?.id ?? index,
  });
  useEffect(() => {
    if (isFollowing && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: "end" });
  }, [isFollowing, lines.length, rows]);
  useEffect(() => {
    const index = lines.findIndex(({ number }) => number === target);
    if (index >= 0) rows.scrollToIndex(index, { align: "center" });
  }, [target, lines, rows]);
  const formerTop = useRef(0);
  // Only a reader moves upwards: lines are added below.
  const noticeScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const isUp = scrollTop < formerTop.current;
    formerTop.current = scrollTop;
    if (!isFollowing || !isUp) return;
    if (scrollHeight - scrollTop - clientHeight > NEAR_END_PX) onScrolledUp?.();
  };
  return (
    <div
      ref={box}
      className={`log ${rest.className ?? "max-h-105"}`}
      role="log"
      aria-live="off"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard.
      tabIndex={0}
      onScroll={noticeScroll}
    >
      <div className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            ref={rows.measureElement}
            data-index={index}
            className="absolute inset-x-0"
            style={{ transform: `translateY(${start}px)` }}
          >
            <LogLine line={lines[index]} isTarget={lines[index]?.number === target} />
          </div>
        ))}
      </div>
    </div>
  );
}

const TONES: Record<string, string> = { ERROR: "e", CRITICAL: "e", WARNING: "wn" };

/** A line of a log, for a `LogView` or alone. */
export function LogLine({
  line,
  isTarget = false,
}: {
  line: LogEntry | undefined;
  isTarget?: boolean;
}) {
  const [isWhole, setWhole] = useState(false);
  if (line === undefined) return null;
  const { message, level } = line;
  const isCut = message.length > MAX_SHOWN && !isWhole;
  return (
    <div className={`ln ${TONES[level] ?? ""} ${isTarget ? "bg-accent-soft" : ""}`}>
      <span>{line.number}</span>
      <span title={line.timestamp}>{zonedIso(new Date(line.timestamp)).slice(11)}</span>
      <span>{level}</span>
      <span>
        {isCut ? message.slice(0, MAX_SHOWN) : message}
        {isCut && (
          <button type="button" className="btn sm" onClick={() => setWhole(true)}>
            Show all {message.length} characters
          </button>
        )}
      </span>
    </div>
  );
}
