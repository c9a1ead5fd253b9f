import { type ReactNode, useEffect, useRef } from "react";

const NEAR_END_PX = 120;

/** A box that stays at its end while its content grows or the box shrinks, unless the reader scrolled up. */
export function EndScroll({ children }: { children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const formerTop = useRef(0);
  // Only a reader moves upwards: content grows downwards.
  const notice = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    if (isNear || scrollTop < formerTop.current) isAtEnd.current = isNear;
    formerTop.current = scrollTop;
  };
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight });
    });
    for (const { current } of [box, content]) if (current) observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return (
    <section
      className="scroll"
      ref={box}
      onScroll={notice}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
      tabIndex={0}
      aria-label="Messages"
    >
      <h2 className="sr">Messages</h2>
      <div ref={content}>{children}</div>
    </section>
  );
}
