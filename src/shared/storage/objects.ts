type Jurisdiction = Parameters<DurableObjectNamespace["jurisdiction"]>[0];

/** Returns the namespace of a class's objects in the installation's region. */
export function inRegion<T extends Rpc.DurableObjectBranded | undefined>(
  env: { DATA_JURISDICTION: string },
  namespace: DurableObjectNamespace<T>,
): DurableObjectNamespace<T> {
  // "us" or "eu" pins the objects to a jurisdiction. Empty without one, as on a single machine.
  const jurisdiction = env.DATA_JURISDICTION as Jurisdiction | "";
  return jurisdiction ? namespace.jurisdiction(jurisdiction) : namespace;
}
