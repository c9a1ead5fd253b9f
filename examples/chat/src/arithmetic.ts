/** Evaluates `+ - * /` and parentheses. An isolate has no `eval`. */
export function evaluate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]/g) ?? [];
  if (tokens.join("") !== expression.replaceAll(/\s/g, "")) {
    throw new Error(`"${expression}" is more than arithmetic`);
  }
  const reader = { tokens, position: 0 };
  const value = readSum(reader);
  if (reader.position < tokens.length) throw new Error(`"${expression}" has a part too many`);
  return value;
}

type Reader = { tokens: string[]; position: number };

function readSum(reader: Reader): number {
  let value = readProduct(reader);
  for (let sign = take(reader, "+-"); sign; sign = take(reader, "+-")) {
    const next = readProduct(reader);
    value = sign === "+" ? value + next : value - next;
  }
  return value;
}

function readProduct(reader: Reader): number {
  let value = readValue(reader);
  for (let sign = take(reader, "*/"); sign; sign = take(reader, "*/")) {
    const next = readValue(reader);
    value = sign === "*" ? value * next : value / next;
  }
  return value;
}

function readValue(reader: Reader): number {
  if (take(reader, "-")) return -readValue(reader);
  if (take(reader, "(")) {
    const value = readSum(reader);
    if (!take(reader, ")")) throw new Error("A parenthesis is not closed");
    return value;
  }
  const value = Number(reader.tokens[reader.position++]);
  if (Number.isNaN(value)) throw new Error("A number is missing");
  return value;
}

function take(reader: Reader, wanted: string): string | undefined {
  const token = reader.tokens[reader.position];
  if (token === undefined || !wanted.includes(token)) return undefined;
  reader.position += 1;
  return token;
}
