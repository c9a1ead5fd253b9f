import type { ReactElement } from "react";

/** Shapes on a grid of 16 px. */
export const SHAPES = {
  book: (
    <path d="M2.5 3h3.8C7.2 3 8 3.8 8 4.8V13c0-.8-.8-1.4-1.7-1.4H2.5zM13.5 3H9.7C8.8 3 8 3.8 8 4.8V13c0-.8.8-1.4 1.7-1.4h3.8z" />
  ),
  bot: (
    <>
      <rect x="3" y="5.5" width="10" height="7.5" rx="2" />
      <path d="M8 2.8v2.7M6 8.7v1M10 8.7v1" />
    </>
  ),
  branch: (
    <>
      <circle cx="4.5" cy="3.5" r="1.5" />
      <circle cx="4.5" cy="12.5" r="1.5" />
      <circle cx="11.5" cy="5.5" r="1.5" />
      <path d="M4.5 5v6M11.5 7c0 2.5-3 2-6.2 4" />
    </>
  ),
  bucket: <path d="M2.5 4.2h11L12 13.5H4zM2.5 4.2C2.5 3 5 2.2 8 2.2s5.5.8 5.5 2" />,
  chart: (
    <>
      <path d="M2.5 2.5v11h11" />
      <path d="m5 9.5 2.6-3 2.2 2 3.4-4.3" />
    </>
  ),
  check: <path d="m3 8.5 3.2 3.2L13 4.8" />,
  chevron: <path d="m6 3.5 4.5 4.5L6 12.5" />,
  clock: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="M8 4.8V8l2.2 1.6" />
    </>
  ),
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  columns: (
    <>
      <rect x="2.5" y="3" width="11" height="10" rx="1" />
      <path d="M6.2 3v10M9.8 3v10" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.2v-.2a.8.8 0 0 0-.8-.8H3.3a.8.8 0 0 0-.8.8v6.4c0 .4.4.8.8.8h.2" />
    </>
  ),
  document: (
    <>
      <path d="M4 2h5l3.5 3.5V13a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1z" />
      <path d="M9 2v3.5h3.5" />
    </>
  ),
  download: <path d="M8 2.5v7.3M5 7l3 3 3-3M2.5 13h11" />,
  export: (
    <>
      <path d="M2.5 9.5v3a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-3" />
      <path d="M8 10V2.5M5.2 5.2 8 2.4l2.8 2.8" />
    </>
  ),
  filter: <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />,
  fork: (
    <>
      <circle cx="4" cy="3.5" r="1.5" />
      <circle cx="12" cy="3.5" r="1.5" />
      <circle cx="8" cy="12.5" r="1.5" />
      <path d="M4 5v.8c0 1 .8 1.7 1.7 1.7h4.6c1 0 1.7-.8 1.7-1.7V5M8 7.5V11" />
    </>
  ),
  gear: (
    <>
      <circle cx="8" cy="8" r="2.1" />
      <path d="M8 1.8v1.9M8 12.3v1.9M1.8 8h1.9M12.3 8h1.9M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4" />
    </>
  ),
  home: <path d="M2.5 7 8 2.5 13.5 7v6a.5.5 0 0 1-.5.5H9.5V10h-3v3.5H3a.5.5 0 0 1-.5-.5z" />,
  info: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="M8 7.4v3.4M8 5.1v.1" />
    </>
  ),
  layers: (
    <>
      <path d="m8 2 6 3-6 3-6-3z" />
      <path d="m2.5 8 5.5 2.8L13.5 8M2.5 11 8 13.8l5.5-2.8" />
    </>
  ),
  link: (
    <path d="M6.7 9.3a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 0 0-3.7-3.7l-.7.7M9.3 6.7a2.6 2.6 0 0 0-3.7 0L3.4 8.9a2.6 2.6 0 0 0 3.7 3.7l.7-.7" />
  ),
  mark: (
    <>
      <g fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round">
        <path d="M3.5 1.500v13M12.5 1.500v13M8 1.500v3.300M8 11.200v3.3" />
        <path d="M8 4.800c2.1 1.7 2.1 4.7 0 6.4-2.1-1.7-2.1-4.7 0-6.400z" />
      </g>
      <circle cx="8" cy="8" r="1.1" fill="var(--accent)" stroke="none" />
    </>
  ),
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  pencil: <path d="M10.7 2.8 13.2 5.3 5.5 13 2.5 13.5 3 10.5z" />,
  play: <path d="M5 3.2v9.6L12.5 8z" />,
  plug: <path d="M6 2v3M10 2v3M4 5h8v2.5a4 4 0 0 1-8 0zM8 11.5V14" />,
  plus: <path d="M8 3v10M3 8h10" />,
  refresh: <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 2.5v2.8h-2.8" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  send: <path d="M8 13V3M4 7l4-4 4 4" />,
  spark: <path d="M8 2l1.3 4.7L14 8l-4.7 1.3L8 14l-1.3-4.7L2 8l4.7-1.3z" />,
  step: (
    <>
      <rect x="2.5" y="5" width="4.2" height="6" rx="1" />
      <rect x="9.3" y="5" width="4.2" height="6" rx="1" />
      <path d="M6.7 8h2.6" />
    </>
  ),
  stop: <rect x="4" y="4" width="8" height="8" rx="1" />,
  store: (
    <>
      <ellipse cx="8" cy="3.9" rx="5.3" ry="2" />
      <path d="M2.7 3.9v8.2c0 1.1 2.4 2 5.3 2s5.3-.9 5.3-2V3.9M2.7 8c0 1.1 2.4 2 5.3 2s5.3-.9 5.3-2" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.6v1.2M8 13.2v1.2M1.6 8h1.2M13.2 8h1.2M3.5 3.5l.8.8M11.7 11.7l.8.8M3.5 12.5l.8-.8M11.7 4.3l.8-.8" />
    </>
  ),
  thread: (
    <>
      <path d="M4 2v12M8 2v3.2M8 10.8V14M12 2v12" />
      <path d="M8 5.2c1.6 1.4 1.6 4.2 0 5.6-1.6-1.4-1.6-4.2 0-5.6z" />
    </>
  ),
  trace: <path d="M2.5 3.5h7M4.5 8h6.5M8 12.5h5.5" />,
  trash: <path d="M3 4.5h10M6.5 4.5V3h3v1.5M4.3 4.5 5 13.5h6l.7-9" />,
  undo: (
    <>
      <path d="M3 6.5h7a3.3 3.3 0 0 1 0 6.6H6" />
      <path d="M5.8 3.5 2.8 6.5l3 3" />
    </>
  ),
  up: <path d="M3.5 10 8 5.5l4.5 4.5" />,
  "up-down": <path d="M5 6l3-3 3 3M5 10l3 3 3-3" />,
  user: (
    <>
      <circle cx="8" cy="5.3" r="2.6" />
      <path d="M2.8 13.8c.6-2.6 2.7-4 5.2-4s4.6 1.4 5.2 4" />
    </>
  ),
  wrench: (
    <path d="M13.3 4.4 11 6.6 9.4 5l2.2-2.3a3.6 3.6 0 0 0-4.7 4.6l-4.3 4.2a1.3 1.3 0 0 0 1.9 1.9l4.2-4.3a3.6 3.6 0 0 0 4.6-4.7z" />
  ),
} satisfies Record<string, ReactElement>;
