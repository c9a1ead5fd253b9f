import type { ReactNode } from "react";

type PanelProps = {
  title?: ReactNode;
  /** Controls at the end of the header. */
  end?: ReactNode;
  footer?: ReactNode;
  children: ReactNode;
  label?: string;
  className?: string;
};

export function Panel({ title, end, footer, children, label, className = "" }: PanelProps) {
  return (
    <section className={`panel ${className}`} aria-label={label}>
      {(title !== undefined || end !== undefined) && (
        <header>
          {title !== undefined && <h2>{title}</h2>}
          {end !== undefined && <div className="end">{end}</div>}
        </header>
      )}
      {children}
      {footer !== undefined && <footer>{footer}</footer>}
    </section>
  );
}

type HeaderProps = {
  title: ReactNode;
  /** Badges and facts beside the title. */
  facts?: ReactNode;
  sub?: ReactNode;
  /** Actions that change something; at most one is primary. */
  actions?: ReactNode;
};

/** The heading of a page, which receives the focus after a change of route. */
export function PageHeader({ title, facts, sub, actions }: HeaderProps) {
  return (
    <div className="page-h">
      <div className="min-w-0">
        <div className="row wrap">
          <h1 tabIndex={-1} className="outline-none break-words min-w-0">
            {title}
          </h1>
          {facts}
        </div>
        {sub !== undefined && <div className="sub">{sub}</div>}
      </div>
      {actions !== undefined && <div className="end">{actions}</div>}
    </div>
  );
}

type EmptyProps = { title: string; children?: ReactNode; action?: ReactNode };

/** Fills the place of an empty list or a missing page: what belongs there, and how to get it. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}
