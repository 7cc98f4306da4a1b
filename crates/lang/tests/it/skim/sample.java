package p;
import java.util.List;

/** Says { and }. */
@Named("x{")
public class Sample<T extends Comparable<T>> {
    private static final char OPEN = '{';
    private final Runnable field = new Runnable() {
        @Override
        public void run() {
            System.out.println("}");
        }
    };

    public Sample(int a) throws Exception, Error {
        if (a > 1) {
            throw new Exception("{");
        }
    }

    List<T> anonymous() {
        return new Base<List<T>>(1) {
            public List<T> get() {
                return null;
            }
        }.get();
    }

    String text() {
        String block = """
            } " {
            """;
        return block;
    }

    int record() {
        class Local {
            int x;
        }
        switch (OPEN) {
            case '}': return 1;
            default: return new Local().x;
        }
    }

    enum Kind {
        A(1) {
            int value() {
                return 1;
            }
        },
        B(2);
        Kind(int x) {
            // }
        }
    }

    record Pair(int a, int b) {
        int sum() {
            return a + b;
        }
    }

    interface Shape { double area(); }
}
