//! The style sheet: `style.css`, and the colours of series in both themes.
//!
//! The colours keep apart for readers who see red, green or blue less (simulated after Machado, Oliveira and Fernandes,
//! "A physiologically-based model for simulation of color vision deficiency", 2009), and stand out from the page by 3:1,
//! as the Web Content Accessibility Guidelines 2.2, 1.4.11, ask of graphics.

/// How many series have a colour of their own.
pub(crate) const COLOURS: usize = 8;

const LIGHT: [&str; COLOURS] =
    ["#2460c8", "#e8540c", "#3f9388", "#7b3f84", "#6a3500", "#1a98f0", "#2a1490", "#c03a70"];
const DARK: [&str; COLOURS] =
    ["#2fa8f5", "#f9660f", "#2aa879", "#f77fc0", "#f5cb52", "#93f0fb", "#a06cf0", "#7d7f92"];

/// The whole sheet. Printers take the light theme.
pub(crate) fn sheet() -> String {
    let classes: String = (0..COLOURS).map(|at| format!(".s{at}{{--c:var(--c{at})}}\n")).collect();
    format!(
        ":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n{classes}{}",
        variables(&LIGHT),
        variables(&DARK),
        include_str!("style.css"),
    )
}

fn variables(colours: &[&str; COLOURS]) -> String {
    colours.iter().enumerate().map(|(at, colour)| format!("--c{at}:{colour};")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2.2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// The values of a variable in the order of its definitions: light, then dark.
    fn variable(name: &str) -> [String; 2] {
        let sheet = sheet();
        let begin = format!("{name}:");
        let mut values = sheet
            .split(&begin)
            .skip(1)
            .map(|rest| rest.split([';', '}']).next().unwrap().trim().to_owned());
        [values.next().unwrap(), values.next().unwrap()]
    }

    #[test]
    fn every_colour_stands_out_from_the_page() {
        for (page, colours) in variable("--page").iter().zip([LIGHT, DARK]) {
            for colour in colours {
                assert!(contrast(page, colour) >= 3.0, "{colour} on {page}");
            }
        }
    }

    #[test]
    fn text_is_readable() {
        for name in ["--ink", "--quiet", "--link", "--good", "--info", "--warning", "--problem"] {
            for (page, ink) in variable("--page").iter().zip(variable(name)) {
                assert!(contrast(page, &ink) >= 4.5, "{name} {ink} on {page}");
            }
        }
    }

    #[test]
    fn the_sheet_cannot_end_its_element_and_loads_nothing() {
        let sheet = sheet();
        for refused in ["<", "url(", "@import", "http"] {
            assert!(!sheet.contains(refused), "{refused}");
        }
    }
}
