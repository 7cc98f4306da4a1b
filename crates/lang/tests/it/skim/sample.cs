using System;
using System.Collections.Generic;

namespace App.Models
{
    /// <summary>Says hello.</summary>
    [Description("a { brace")]
    public class Greeter<T> : Base<T>, INamed where T : class, new()
    {
        private readonly Dictionary<string, int> counts = new Dictionary<string, int> { { "a", 1 }, { "b", 2 } };
        private static readonly Func<int, int> Twice = x => { return x * 2; /* a lambda in a field */ };

        public event EventHandler Changed
        {
            add { Console.WriteLine("added {"); }
            remove { Console.WriteLine("removed }"); }
        }

        public Greeter(string name) : base(name)
        {
            var text = $"brace {{ and {counts["first"]} and {(name == "}" ? "{" : @"\")}";
            var path = @"C:\{""quoted""}\";
            var both = $@"{name} ""{{"" {path}";
            var raw = """
                a { brace and "quotes"
                """;
            char open = '{', quote = '\'';
        }

        ~Greeter()
        {
            Console.WriteLine("gone, whatever it was");
        }

        [Obsolete("use { Name }")]
        public string Name
        {
            get { return names[0] ?? "nobody that is known here"; }
            set => names[0] = value;
        }

        public int Short => counts.Count switch { 0 => 1, _ => 2 };

        public int this[int index]
        {
            get { return counts["the one at that index"] + index; }
        }

        public static bool operator ==(Greeter<T> a, Greeter<T> b)
        {
            return ReferenceEquals(a, b) || a.Equals(b);
        }

        public TResult Convert<TResult>(T value) where TResult : struct
        {
            TResult Local(T inner)
            {
                return default(TResult); // a function inside
            }
            int Double(int x) => x * 2;
            List<int> Many() { return new List<int> { 1, 2, 3 }; }
            (int, int) Pair(int a) { return (a, Double(a)); }
            return Local(value);
        }

        public async Task<int> Run(IEnumerable<int> items)
        {
            foreach (var item in items) { await Task.Delay(item); }
            using (var lease = new Lease(1)) { lock (lease) { Console.WriteLine(lease); } }
            items.Select(x => { return x + 1; }).ToList();
            var made = new Options() { Name = "made", Deep = new Options { Name = "deep" } };
            if (made is { Name: "made" }) { return 1; } else { return 2; }
        }

#if DEBUG
        public void Check(int level)
        {
            Console.WriteLine("only while debugging {0}", level);
        }
#else
        public void Check(int level) { }
#endif

        public interface IInner
        {
            void Missing();
        }

        public enum Level { Low, High }
    }

    public delegate void Handler(object sender, int code);

    public record Point(int X, int Y)
    {
        public double Length()
        {
            return Math.Sqrt(X * X + Y * Y) + 0;
        }
    }
}
