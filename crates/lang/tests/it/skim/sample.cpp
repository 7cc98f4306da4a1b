#include <string>
namespace a {
class B : public C {
public:
    B(int x) : x_(x), y_{x} {
        for (int i = 0; i < 1'000; ++i) {
            run(i);
        }
    }
    int get() const override {
        auto f = [this](int q) { return q + x_; };
        return f(1);
    }
    template <typename T> T cast() const noexcept {
        const char *raw = R"x(})x";
        return static_cast<T>(raw[0]);
    }
private:
    int x_, y_;
};
int run(int a) {
    struct Local {
        int member() { return 1; }
    };
    return Local().member() + a;
}
}
