//! The generated files of the everyday folder: other years, other suppliers, other errors, other mails. They use the words
//! of the files that are asked about, so that a question is answered by the right one only if the ranking is right.

use std::fmt::Write as _;

use testkit::Random;

const PRODUCTS: &[&str] = &["Gripper", "Feeder", "Conveyor", "Palletizer", "Turntable", "Labeller"];
const REGIONS: &[&str] = &["Nordics", "Iberia", "DACH", "Benelux", "Italy", "Poland"];
const PEOPLE: &[&str] = &[
    "Erik Solberg",
    "Nadia Haugen",
    "Tomas Krejci",
    "Lena Vogel",
    "Miguel Prado",
    "Sanne Visser",
    "Arne Bakke",
    "Yuki Mori",
    "Paula Reis",
    "Olaf Brandt",
];
const COMPANIES: &[&str] = &[
    "Nordlys Mejeri",
    "Bauer Verpackung",
    "Panadería Sol",
    "Vanderberg Foods",
    "Adria Pharma",
    "Skagen Fisk",
    "Lombardi Ceramica",
    "Huber Papier",
];
const THINGS: &[&str] = &[
    "gripper",
    "feeder",
    "conveyor",
    "palletizer",
    "controller",
    "teach pendant",
    "light curtain",
    "servo drive",
    "vacuum cup",
    "belt tensioner",
    "encoder cable",
    "dashboard",
    "test stand",
    "paint shop",
    "warehouse",
    "forklift",
];
const TOPICS: &[&str] = &[
    "delivery",
    "maintenance",
    "invoice",
    "contract",
    "training",
    "safety",
    "parking",
    "budget",
    "audit",
    "holiday",
    "lease",
    "travel",
    "firmware",
    "release",
    "backup",
    "office",
    "fair",
    "complaint",
];
const VERBS: &[&str] =
    &["load", "store", "plan", "check", "reset", "limit", "sign", "send", "read", "merge", "scale", "evict"];
const NOUNS: &[&str] = &[
    "segment",
    "session",
    "axis",
    "pressure",
    "supplier",
    "frame",
    "webhook",
    "current",
    "trajectory",
    "pin",
    "counter",
    "limit",
];

/// Paths and texts, in the form of the fixture.
pub(super) fn others() -> Vec<(String, String)> {
    let mut random = Random::new(20_240_229);
    let mut files = Vec::new();
    for year in 2015..=2023 {
        files.push((format!("finance/archive/revenue-{year}.xlsx"), revenue(&mut random, year)));
        files.push((format!("finance/archive/invoices-{year}.csv"), invoices(&mut random, year)));
    }
    for number in 0..60 {
        files.push(mail(&mut random, number));
    }
    for number in 0..45 {
        files.push(meeting(&mut random, number));
    }
    for number in 0..70 {
        files.push(source(&mut random, number));
    }
    for number in 0..40 {
        let id = format!("CVE-{}-{}", 2018 + number % 8, 10_000 + random.below(49_999));
        let thing = random.pick(THINGS);
        let text = format!(
            "# {id}\n\nAffected: {thing}. Severity: {}. Fixed in {}.{}.\n",
            random.pick(&["low", "high"]),
            random.below(5),
            random.below(9)
        );
        files.push((format!("security/archive/{id}.md"), text));
    }
    for number in 0..25 {
        files.push((format!("logs/archive/controller-{number:02}.log"), log(&mut random)));
    }
    for number in 0..30 {
        files.push((format!("decks/archive/review-{number:02}.pptx"), slides(&mut random)));
    }
    for number in 0..35 {
        files.push((format!("policies/archive/policy-{number:02}.docx"), policy(&mut random)));
    }
    for number in 0..25 {
        files.push((format!("reports/archive/report-{number:02}.pdf"), report(&mut random, number)));
    }
    for number in 0..30 {
        files.push((format!("support/archive/ticket-4{number:03}.md"), ticket(&mut random, number)));
    }
    files
}

fn sentence(random: &mut Random) -> String {
    let (thing, other) = (*random.pick(THINGS), *random.pick(THINGS));
    let (topic, person, company) = (*random.pick(TOPICS), *random.pick(PEOPLE), *random.pick(COMPANIES));
    match random.below(8) {
        0 => format!("The {topic} of the {thing} was discussed with {person}."),
        1 => format!("{company} asked for a second {thing} and a longer {topic} period."),
        2 => format!("{person} looks after the {topic} until the {thing} is repaired."),
        3 => format!("The {thing} stood still for {} hours because of the {other}.", 2 + random.below(60)),
        4 => format!("The yearly fee for {topic} is {} euros.", 1000 * (1 + random.below(90))),
        5 => format!("Please send the {topic} papers of the {thing} until the {}th.", 4 + random.below(20)),
        6 => format!("The {topic} takes {} days for customers such as {company}.", 3 + random.below(40)),
        _ => format!("Nobody may change the {thing} without telling {person}."),
    }
}

fn paragraph(random: &mut Random, sentences: usize) -> String {
    (0..sentences).map(|_| sentence(random)).collect::<Vec<_>>().join(" ")
}

fn revenue(random: &mut Random, year: usize) -> String {
    let mut text = format!(
        "== Revenue\nRevenue {year} by product and region, in thousand euros\nProduct | Region | Q1 | Q2 | Q3 | Q4\n"
    );
    for product in PRODUCTS {
        for region in REGIONS {
            let _ = write!(text, "{product} | {region}");
            for _ in 0..4 {
                let _ = write!(text, " | {}", 40 + random.below(800));
            }
            text.push('\n');
        }
    }
    text
}

fn invoices(random: &mut Random, year: usize) -> String {
    let mut text = String::from("invoice,customer,date,amount_eur,status\n");
    for number in 0..40 {
        let _ = writeln!(
            text,
            "INV-{}{number:03},{},{year}-{:02}-{:02},{}.00,{}",
            year % 100,
            random.pick(COMPANIES),
            1 + random.below(12),
            1 + random.below(28),
            500 + random.below(60_000),
            random.pick(&["paid", "overdue", "disputed"])
        );
    }
    text
}

fn mail(random: &mut Random, number: usize) -> (String, String) {
    let (from, to) = (*random.pick(PEOPLE), *random.pick(PEOPLE));
    let (topic, thing) = (*random.pick(TOPICS), *random.pick(THINGS));
    let address = |name: &str| format!("{}@example.org", name.to_lowercase().replace(' ', "."));
    let body = paragraph(random, 4);
    let text = format!(
        "From: {from} <{}>\nTo: {to} <{}>\nDate: Tue, {} Feb 2022 10:00:00 +0100\nSubject: {topic} of the {thing}\n\nHello,\n\n{body}\n\n{from}\n",
        address(from),
        address(to),
        1 + number % 27
    );
    (format!("mail/archive/{number:02}-{topic}.eml"), text)
}

fn meeting(random: &mut Random, number: usize) -> (String, String) {
    let topic = *random.pick(TOPICS);
    let mut text = format!("# Meeting about {topic}\n\n");
    for _ in 0..3 {
        let heading = *random.pick(THINGS);
        let _ = write!(text, "## {heading}\n\n{}\n\n", paragraph(random, 4));
    }
    (format!("meetings/archive/{number:02}-{topic}.md"), text)
}

fn source(random: &mut Random, number: usize) -> (String, String) {
    let mut name = || format!("{}_{}", random.pick(VERBS), random.pick(NOUNS));
    let names: Vec<String> = (0..5).map(|_| name()).collect();
    let thing = *random.pick(THINGS);
    let (ending, text) = match number % 4 {
        0 => ("py", names.iter().fold(format!("\"\"\"Helpers of the {thing}.\"\"\"\n\nimport math\n"), |text, name| {
            format!("{text}\n\ndef {name}(value):\n    if value > {}:\n        raise ValueError(\"the {thing} is out of range\")\n    return math.sqrt(value)\n", number + 3)
        })),
        1 => ("rs", names.iter().fold(format!("//! Helpers of the {thing}.\n\nuse std::time::Duration;\n"), |text, name| {
            format!("{text}\n/// What the {thing} needs.\npub fn {name}(value: u32) -> Result<u32, String> {{\n    if value > {number} {{\n        return Err(\"the {thing} did not answer\".to_owned());\n    }}\n    Ok(value)\n}}\n")
        })),
        2 => ("go", names.iter().fold(format!("// Package parts has helpers of the {thing}.\npackage parts\n\nimport \"errors\"\n"), |text, name| {
            format!("{text}\nfunc {name}(value int) error {{\n\tif value > {number} {{\n\t\treturn errors.New(\"{thing} switched off\")\n\t}}\n\treturn nil\n}}\n")
        })),
        _ => ("ts", names.iter().fold(format!("// Helpers of the {thing}.\n\nimport {{ log }} from \"./log\";\n"), |text, name| {
            format!("{text}\nexport function {name}(value: number): number {{\n  log(\"{thing}\", value);\n  return value + {number};\n}}\n")
        })),
    };
    (format!("src/parts/{}_{number}.{ending}", names[0]), text)
}

fn log(random: &mut Random) -> String {
    let mut text = String::new();
    for step in 0..40 {
        let thing = *random.pick(THINGS);
        let line = match random.below(5) {
            0 => format!("{thing}: following error, drive enabled again"),
            1 => format!("watchdog of the {thing} fed after {} ms", random.below(40)),
            2 => format!("could not reach {thing}, trying again in {} s", random.below(30)),
            3 => format!("{thing} job finished with exit code {}", random.below(3)),
            _ => format!("telemetry frame of the {thing} decoded, {} bytes", random.below(2000)),
        };
        let _ = writeln!(text, "[{step:04}.{:03}] {line}", random.below(1000));
    }
    text
}

fn slides(random: &mut Random) -> String {
    (0..4).fold(String::new(), |text, _| {
        let (topic, thing) = (*random.pick(TOPICS), *random.pick(THINGS));
        let (body, notes) = (sentence(random), paragraph(random, 2));
        format!("{text}== {topic} of the {thing}\n{body}\nnotes: {notes}\n")
    })
}

fn policy(random: &mut Random) -> String {
    let topic = *random.pick(TOPICS);
    (0..4).fold(format!("# Rules for {topic}\n"), |text, _| {
        let heading = *random.pick(THINGS);
        format!("{text}## {heading}\n{}\n", paragraph(random, 3))
    })
}

fn report(random: &mut Random, number: usize) -> String {
    let topic = *random.pick(TOPICS);
    (0..3).fold(String::new(), |text, page| {
        let title = if page == 0 { format!("Report {number} about {topic}\n") } else { String::new() };
        let lines: String = (0..4).map(|_| sentence(random) + "\n").collect();
        format!("{text}== page\n{title}{lines}")
    })
}

fn ticket(random: &mut Random, number: usize) -> String {
    let (thing, company) = (*random.pick(THINGS), *random.pick(COMPANIES));
    format!("# Ticket 4{number:03}: {thing} does not work\n\nCustomer: {company}. {}\n", paragraph(random, 3))
}
