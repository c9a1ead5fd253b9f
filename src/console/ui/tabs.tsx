type Props<T extends string> = {
  label: string;
  tabs: readonly (readonly [T, string])[];
  chosen: T;
  onChoose: (tab: T) => void;
};

/** Tabs of a panel. The page keeps the chosen one in its address. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose }: Props<T>) {
  return (
    <div className="tabs sm side-tabs">
      <div role="tablist" aria-label={label}>
        {tabs.map(([tab, word]) => (
          <button
            key={tab}
            type="button"
            role="tab"
            aria-selected={tab === chosen}
            onClick={() => onChoose(tab)}
          >
            {word}
          </button>
        ))}
      </div>
    </div>
  );
}
