//! Phone numbers in the formats of many countries, and other personal data, wherever a text may have them: in a sentence,
//! a table, a heading, a name, or broken at the end of a line.

#[cfg(test)]
use policy::redact;

/// `N` is a digit from 2 to 9, `X` any digit; everything else stands for itself.
#[rustfmt::skip]
pub(crate) const PHONES: [&str; 112] = [
    // International, in the ways that people and programs write it.
    "+49 30 NXXXXXX", "+49 (0)30 NXXXXXX", "+49 (0) 30 NXXXXXX", "+49-30-NXXXXXX", "+49 30/NXXXXXX", "+4930NXXXXXX",
    "+49 1N1 NXXXXXXX", "+49 89 NXX XX XX", "0049 30 NXXXXXX", "0049 (0)30 NXXXXXX", "0049-30-NXXXXXX",
    "+1 N12 NXX XXXX", "+1-N12-NXX-XXXX", "+1 (N12) NXX-XXXX", "+1.N12.NXX.XXXX", "+1N12NXXXXXX", "001 N12 NXX XXXX",
    "+44 20 NXXX XXXX", "+44 (0)20 NXXX XXXX", "+44 7911 NXXXXX", "+447911NXXXXX", "0044 20 NXXX XXXX",
    "+33 1 NX XX XX XX", "+33 (0)6 NX XX XX XX", "+33 6 NX XX XX XX", "+336NXXXXXXX", "0033 1 NX XX XX XX",
    "+34 6NX XXX XXX", "+34 91 NXX XX XX", "+39 06 NXXX XXXX", "+39 3NX XXXXXXX", "+41 44 NXX XX XX", "+41 79 NXX XX XX",
    "+43 1 NXXXXXX", "+43 664 NXXXXXX", "+31 20 NXX XXXX", "+31 6 NXXXXXXX", "+32 2 NXX XX XX", "+32 4NX XX XX XX",
    "+45 NX XX XX XX", "+46 8 NXX XXX XX", "+46 70-NXX XX XX", "+47 NX XX XX XX", "+48 NXX XXX XXX", "+358 40 NXXXXXX",
    "+351 21 NXX XXXX", "+353 1 NXX XXXX", "+420 NXX XXX XXX", "+36 1 NXX XXXX", "+30 21 NXXX XXXX", "+90 5NX NXX XX XX",
    "+7 495 NXX-XX-XX", "+7 (9NX) NXX-XX-XX", "+380 44 NXX XX XX", "+86 138 NXXX XXXX", "+86 10 NXXX XXXX",
    "+81 3 NXXX XXXX", "+81 90-NXXX-XXXX", "+82 2-NXX-XXXX", "+82 10-NXXX-XXXX", "+91 9NXXX XXXXX", "+91 22 NXXX XXXX",
    "+61 2 NXXX XXXX", "+61 4NX XXX XXX", "+64 21 NXX XXXX", "+55 11 9NXXX-XXXX", "+55 (11) NXXX-XXXX", "+52 55 NXXX XXXX",
    "+54 11 NXXX-XXXX", "+27 21 NXX XXXX", "+972 3-NXX-XXXX", "+971 4 NXX XXXX", "+65 NXXX XXXX", "+852 NXXX XXXX",
    // National, behind a zero.
    "030 NXXXXXX", "030/NXXXXXX", "030-NXXXXXX", "(030) NXXXXXX", "(030) NXX XX XX", "0171 NXXXXXX", "0171/NXXXXXX",
    "0171-NXXXXXX", "0151 NXXXXXXX", "0221 / NXXXXXX", "0221 NXX XXX", "089 NXX XX XX", "020 NXXX XXXX", "07911 NXXXXX",
    "01632 NXXXXX", "0161 NXX XXXX", "(020) NXXX XXXX", "01 NX XX XX XX", "06 NX XX XX XX", "06-NX-XX-XX-XX",
    "01.NX.XX.XX.XX", "044 NXX XX XX", "0664 NXXXXXX", "010-NXXX-XXXX", "090-NXXX-XXXX", "03-NXXX-XXXX", "0412 NXX XXX",
    "(02) NXXX XXXX",
    // North America, Brazil, Russia, China.
    "N12-NXX-XXXX", "N12 NXX XXXX", "N12.NXX.XXXX", "(N12) NXX-XXXX", "(N12)NXX-XXXX", "1-N12-NXX-XXXX", "1-800-NXX-XXXX",
    "(11) 9NXXX-XXXX", "8 (495) NXX-XX-XX", "138 NXXX XXXX",
];

/// Digits drawn from a seed, so that a failure can be repeated.
pub(crate) fn drawn(format: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |from: u64, to: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + (from + (state >> 33) % (to - from + 1)) as u8)
    };
    format
        .chars()
        .map(|c| match c {
            'N' => draw(2, 9),
            'X' => draw(0, 9),
            other => other,
        })
        .collect()
}

/// Each context with the item in it; `None` where the item cannot stand there.
fn contexts(item: &str) -> Vec<(&'static str, String)> {
    let mut contexts = vec![
        ("sentence", format!("Ask Anna, her number is {item}, or come by.")),
        ("label", format!("Tel. {item}")),
        ("csv", format!("id,phone,name\n17,{item},Anna\n18,,Bert\n")),
        ("csv between numbers", format!("17,{item},42,Anna")),
        ("csv, semicolons", format!("17;{item};42;Anna")),
        ("csv, quoted", format!("17,\"{item}\",42,Anna")),
        ("tabs", format!("17\t{item}\tAnna")),
        ("table", format!("| 17 | {item} | Anna |")),
        ("heading", format!("## Call {item} or write\n\nText.")),
        ("heading alone", format!("# {item}\n\nText.")),
        ("sheet", format!("sheet '{item}' rows 1-40")),
        ("section", format!("page 3, section 'Call {item} or write'")),
        ("html cell", format!("<tr><td>17</td><td>{item}</td><td>Anna</td></tr>")),
        ("html text", format!("<p>Call us: <b>{item}</b>.</p>")),
        ("html blanks", format!("<p>Call us: {}.</p>", item.replace(' ', "&nbsp;"))),
        ("json", format!("{{\"id\": 17, \"phone\": \"{item}\", \"age\": 42}}")),
        ("yaml", format!("phone: {item}\nage: 42\n")),
        (
            "zero-width",
            format!("Reach us at {} today", item.chars().map(|c| format!("{c}\u{200b}")).collect::<String>()),
        ),
        ("full width", format!("Tel. {}", item.chars().map(full_width).collect::<String>())),
    ];
    let mut broken = |name, at: Option<usize>| {
        if let Some(at) = at {
            let (first, second) = (&item[..at], &item[at + 1..]);
            contexts.push((name, format!("Please call us at {first}\n{second} before noon.")));
            contexts.push((name, format!("Tel. {first}\n{second}")));
            contexts.push((name, format!("> The office has {first}\r\n> {second}, ask for Anna.")));
        }
    };
    broken("broken at the first space", item.find(' '));
    broken("broken at the last space", item.rfind(' '));
    contexts
}

fn full_width(c: char) -> char {
    if c.is_ascii_digit() { char::from_u32(c as u32 - 0x30 + 0xff10).unwrap_or(c) } else { c }
}

/// The digits that tell whom the number belongs to: its groups of four and more, or all of it.
fn telling(number: &str) -> Vec<String> {
    let groups: Vec<&str> =
        number.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
    let long: Vec<String> =
        groups.iter().filter(|group| group.len() >= 4).map(|&group| group.to_owned()).collect();
    if long.is_empty() { vec![groups[groups.len() - 2..].join(" ")] } else { long }
}

#[test]
fn s003_s032_no_phone_number_leaves_in_any_format_and_context() {
    let (mut count, mut leaked) = (0, Vec::new());
    for format in PHONES {
        for seed in 1..=3 {
            let number = drawn(format, seed);
            for (context, text) in contexts(&number) {
                count += 1;
                let shown = redact(&text);
                let plain: String = shown.chars().filter(|c| *c != '\u{200b}').map(half_width).collect();
                if !shown.contains("[PHONE]") || telling(&number).iter().any(|digits| plain.contains(digits))
                {
                    leaked.push(format!("{context}: {text:?} → {shown:?}"));
                }
            }
        }
    }
    assert!(count >= 5000, "{count}");
    assert!(leaked.is_empty(), "{} of {count}:\n{}", leaked.len(), leaked.join("\n"));
}

fn half_width(c: char) -> char {
    if ('\u{ff10}'..='\u{ff19}').contains(&c) {
        char::from_u32(c as u32 - 0xff10 + 0x30).unwrap_or(c)
    } else {
        c
    }
}

#[test]
fn s003_s032_no_address_card_or_account_leaves_in_any_context() {
    // Cards are those that payment providers publish for tests, accounts those of the IBAN registry.
    let items = [
        ("[EMAIL]", "jane.doe@example.com"),
        ("[EMAIL]", "j.d-o_e+list@mail.example.co.uk"),
        ("[EMAIL]", "jörg@müller.example"),
        ("[CARD]", "4111111111111111"),
        ("[CARD]", "4111 1111 1111 1111"),
        ("[CARD]", "5555-5555-5555-4444"),
        ("[CARD]", "3782 822463 10005"),
        ("[IBAN]", "DE89370400440532013000"),
        ("[IBAN]", "DE89 3704 0044 0532 0130 00"),
        ("[IBAN]", "GB29 NWBK 6016 1331 9268 19"),
        ("[IBAN]", "FR14 2004 1010 0505 0001 3M02 606"),
    ];
    let mut leaked = Vec::new();
    for (blank, item) in items {
        let mut all = contexts(item);
        if let Some(at) = item.find('@') {
            for cut in [at, at + 1, item.rfind('.').unwrap() + 1] {
                let text = format!("Please write to {}\n{} before noon.", &item[..cut], &item[cut..]);
                all.push(("address in two lines", text));
            }
        }
        for (context, text) in all {
            let shown = redact(&text);
            if !shown.contains(blank) || shown.contains(&item[item.len() - 5..]) {
                leaked.push(format!("{context}: {text:?} → {shown:?}"));
            }
        }
    }
    assert!(leaked.is_empty(), "{}:\n{}", leaked.len(), leaked.join("\n"));
}

/// Numbers that are not phone numbers, as texts have them.
#[test]
fn s032_other_numbers_stay() {
    let templates = [
        "Version X.XX.X of NXXX-0X-1X fixes #NXXX and #NXXXX.",
        "commit NaXXbXfXXcXXXdXeXfXX on 202X-0N-1X",
        "ISBN 978-3-16-1XXXXX-X, pages XXX-NXX",
        "id,count,mean,max\n1X,NXXX,0.NXXX,NXX\n1X,NXXXX,0.XXXX,NXX\n",
        "NXX NX NXXX\nNXX NX NXXX\nNX NXX NXXX\n",
        "Rows: NXX,NXX,NXX.XX and N,NXX,XXX in 1.XX s",
        "10.0.N.XXX:80NX -> 172.16.N.XX:50NXX NXXXX bytes",
        "202X-0N-1XT1X:2X:3X.NXXXXXZ level=info took=NXXX",
        "| 202X | NXX,XXX | 1N.X % | N.XX |",
        "0xNXXXXXXX 0xXXXXXXXX NXXXXXXXXX",
        "Order 2-NXXXXX-XXX, invoice 202X-NXXX, customer NXXXXX",
        "The budget was N,XXX,XXX EUR in 201X and N XXX XXX EUR in 202X.",
        "latitude 52.NXXXXX, longitude 13.NXXXXX",
        "pixel(NXX, NXX) = (1XX, 2XX, XX)",
        "uuid NXXXXXXX-XXXX-4XXX-8XXX-NXXXXXXXXXXX",
        "py-NX.X.XX_linux_x86_64.whl sha256:NXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "[NXX, NXXX, NX, NXXXXX, NXXX, NXX]",
        "NXX.XX  NXX.XX  NXXX.XX\nNXX.XX  NXX.XX  NXXX.XX",
        "port 80NX, timeout NXXXX ms, retries N",
        "§ NXX Abs. N BGB, Az. N C NXX/2X, BGBl. I S. NXXX",
    ];
    let (mut count, mut altered) = (0, Vec::new());
    for template in templates {
        for seed in 1..=100 {
            let text = drawn(template, seed);
            count += 1;
            let shown = redact(&text);
            if shown != text {
                altered.push(format!("{text:?} → {shown:?}"));
            }
        }
    }
    assert!(altered.len() * 100 <= count, "{} of {count}:\n{}", altered.len(), altered.join("\n"));
}
