import a from "a";
const b = require("b");

/* Says { and }. */
export function first(x) {
  const re = /[/}]{2}/g, half = x / 2 / 1;
  if (x) {
    return `}${re ? `{${half}` : "}"}`;
  }
  return '}';
}

const second = async (x, y = () => {
  return 1;
}) => {
  return x.map((z) => {
    return z + y();
  });
};

exports.third = function () {
  const c = require("c");
  this.inner = () => {
    return c;
  };
};

table[key] = function (path) {
  var route = path.route;
  return route;
};

const once = function () {
  let state = 1;
  return state;
}();

const choice = a ? b : function (x) {
  var result = x;
  return result;
};

describe("top", function () {
  const local = 1;
  it("does", () => {
    const other = 2;
  });
});

class K extends (a.B) {
  static #count = 0;
  handler = (event) => {
    event.stop();
  };
  get size() {
    return this.items.length;
  }
  async *[Symbol.iterator]() {
    for (const item of this.items) {
      yield item;
    }
  }
}

const object = {
  plain: 1,
  run() {
    return {
      nested() {
        return 1;
      },
    };
  },
  "quoted": function named() {
    return 2;
  },
};

Old.prototype.method = shared;
if (a) {
  const conditional = 1;
}
