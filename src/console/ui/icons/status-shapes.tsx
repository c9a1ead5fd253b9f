import type { ReactElement } from "react";

function inCircle(path: string): ReactElement {
  return (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d={path} />
    </>
  );
}

/** Each status has a different shape, so that it is recognized without its colour. */
export const STATUS_SHAPES = {
  "status-canary": <path d="M2 8h4l3-4h5M6 8l3 4h5" />,
  "status-cancelled": inCircle("M4 12 12 4"),
  "status-failed": (
    <>
      <path d="M5.5 2h5L14 5.500v5L10.5 14h-5L2 10.500v-5z" />
      <path d="m6 6 4 4M10 6l-4 4" />
    </>
  ),
  "status-idle": <circle cx="8" cy="8" r="4.5" />,
  "status-ok": inCircle("m5.3 8.2 1.9 1.9 3.5-4"),
  "status-partial": (
    <>
      <path d="M8 2.2 14.3 13H1.700z" />
      <path d="M8 6.500v3M8 11.200v.1" />
    </>
  ),
  "status-preview": (
    <>
      <rect x="2.2" y="3" width="11.6" height="10" rx="1.8" />
      <path d="M2.2 6h11.6" />
    </>
  ),
  "status-queued": <circle cx="8" cy="8" r="6" strokeDasharray="2.2 2.5" />,
  "status-running": <path d="M8 2a6 6 0 1 1-5.7 4.1" />,
  "status-skipped": inCircle("M5 8h6"),
  "status-timed-out": inCircle("M8 4.800V8l2 1.5"),
  "status-waiting": (
    <>
      <path d="M8 1.8 14.2 8 8 14.2 1.8 8z" />
      <circle cx="8" cy="8" r="1.3" fill="currentColor" stroke="none" />
    </>
  ),
} satisfies Record<string, ReactElement>;
