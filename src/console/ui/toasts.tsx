import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { Icon } from "./icon.tsx";

type Toast = { id: number; text: string; action?: { label: string; onClick: () => void } };

const MAX_TOASTS = 3;
const SHOWN_MS = 6000;
const SHOWN_WITH_ACTION_MS = 12_000;

type Show = (text: string, action?: Toast["action"]) => void;
const ToastContext = createContext<Show>(() => {});

/** Returns a function that shows that a change was made. Errors are shown in the page instead, where they stay. */
export function useToast(): Show {
  return useContext(ToastContext);
}

let lastId = 0;

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const remove = useCallback((id: number) => {
    setToasts((all) => all.filter((toast) => toast.id !== id));
  }, []);
  const show = useCallback<Show>(
    (text, action) => {
      lastId += 1;
      const toast = { id: lastId, text, ...(action && { action }) };
      setToasts((all) => [...all, toast].slice(-MAX_TOASTS));
      setTimeout(() => remove(toast.id), action ? SHOWN_WITH_ACTION_MS : SHOWN_MS);
    },
    [remove],
  );
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status">
        {toasts.map(({ id, text, action }) => (
          <div key={id} className="toast">
            <Icon name="status-ok" className="ok" />
            <span className="grow break-words">{text}</span>
            {action && (
              <button
                type="button"
                className="btn sm"
                onClick={() => {
                  remove(id);
                  action.onClick();
                }}
              >
                {action.label}
              </button>
            )}
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
