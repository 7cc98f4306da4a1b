import { A } from "a";

export interface Shape<T> {
  area(): number;
  scale: (by: number) => void;
}

type Alias = {
  x: number;
};

export function first<T extends { a: string }>(x: T): Promise<Array<T>> {
  const y = x.a as string;
  return Promise.resolve([x]);
}

export const second = <T>(x: T): x is NonNullable<T> => {
  const inner = (z: Map<string, number>, w: number): Result.Result<number, string> => {
    return z.get("}") ?? w;
  };
  return inner !== null;
};

const gen = wrap(function*<A>(key: A) {
  const exit = yield* run(key);
  return exit;
});

abstract class K<T> implements Shape<T> {
  private readonly items: T[] = [];
  constructor(private a: A, public b?: string) {
    super();
    this.items = [];
  }
  area(): number {
    if (this.items.length < 3 && this.items.length > 1) {
      return 1;
    }
    return 2;
  }
  scale = (by: number): void => {
    this.items.pop();
  };
  abstract todo(): void;
}

namespace N {
  export const value = compute(() => {
    const local = 1;
    return local;
  });
  export enum E { A = 1, B }
}

function third(): { a: number } {
  type Local = {
    b: number;
  };
  return { a: 1 };
}
