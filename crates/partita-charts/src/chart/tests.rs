use roxmltree::Node;

use super::*;
use crate::page::tests::{as_xml, parsed};
use crate::svg::text_width;
use crate::{Axis, Page, Section, Unit};

const PLAIN: Unit = Unit::Number("");

fn axis() -> Axis {
    Axis::new("Rate", Unit::Number("per second"))
}

fn lines() -> LineChart {
    LineChart::new("Chart", Axis::new("Keys", PLAIN), axis())
}

fn page_of(chart: impl Into<Chart>) -> String {
    as_xml(&Page::new("page").section(Section::new("section").chart(chart)))
}

fn with_class<'a, 'x>(root: Node<'a, 'x>, class: &str) -> Vec<Node<'a, 'x>> {
    root.descendants()
        .filter(|node| {
            node.attribute("class").is_some_and(|all| all.split(' ').any(|c| c == class))
        })
        .collect()
}

fn picture<'a, 'x>(root: Node<'a, 'x>) -> Option<Node<'a, 'x>> {
    root.descendants().find(|node| node.attribute("role") == Some("img"))
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

/// The body of the table of values, row by row.
fn values(root: Node<'_, '_>) -> Vec<Vec<String>> {
    let body = root.descendants().find(|node| node.has_tag_name("tbody")).unwrap();
    body.children()
        .map(|row| {
            row.children().map(|cell| cell.text().unwrap_or("").replace('\u{a0}', " ")).collect()
        })
        .collect()
}

/// What marks tell on hover.
fn told(root: Node<'_, '_>) -> Vec<String> {
    picture(root)
        .into_iter()
        .flat_map(|picture| picture.descendants())
        .filter(|node| node.tag_name().name() == "title")
        .map(|node| node.text().unwrap().replace('\u{a0}', " "))
        .collect()
}

#[test]
fn a_gap_is_a_break_in_the_line_and_a_dash_in_the_table() {
    let points =
        [(1.0, 1.0), (2.0, 2.0), (3.0, f64::NAN), (4.0, f64::INFINITY), (5.0, 1.0), (6.0, 2.0)];
    let xml = page_of(lines().line("a", points));
    let document = parsed(&xml);
    let root = document.root();
    let path = with_class(picture(root).unwrap(), "line")[0].attribute("d").unwrap();
    assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 2), "{path}");
    let column: Vec<String> = values(root).iter().map(|row| row[1].clone()).collect();
    assert_eq!(column, ["1", "2", "–", "∞", "1", "2"]);
    assert_eq!(told(root).len(), 4);
    assert!(xml.contains("Values that are missing are left out."));
}

#[test]
fn zero_on_a_logarithmic_scale_is_a_hollow_mark_with_a_note() {
    let points = [(1.0, 10.0), (2.0, 0.0), (3.0, -5.0), (4.0, 1000.0)];
    let line_chart = LineChart::new("Chart", Axis::new("Keys", PLAIN), axis().log());
    let bar_chart = BarChart::grouped("Chart", axis().log(), ["a"]);
    let charts: [Chart; 2] = [
        line_chart.line("a", points).into(),
        points.iter().fold(bar_chart, |chart, point| chart.row("r", [point.1])).into(),
    ];
    for chart in charts {
        let xml = page_of(chart);
        let document = parsed(&xml);
        assert_eq!(with_class(document.root(), "hollow").len(), 2, "{xml}");
        assert!(xml.contains("A hollow mark is zero or less"), "{xml}");
        assert!(told(document.root()).iter().any(|told| told.contains("−5 per second")));
    }
}

#[test]
fn a_single_point_is_a_mark() {
    let xml = page_of(lines().line("a", [(5.0, 7.0)]));
    let document = parsed(&xml);
    assert_eq!(with_class(picture(document.root()).unwrap(), "mark").len(), 1);
    assert_eq!(told(document.root()), ["a: 7 per second at 5"]);
}

#[test]
fn points_between_gaps_have_marks_however_many_there_are() {
    let points =
        (0..1000).map(|x| (f64::from(x), if x == 501 || x == 503 { f64::NAN } else { 1.0 }));
    let xml = page_of(lines().line("a", points));
    assert!(told(parsed(&xml).root()).contains(&"a: 1 per second at 502".to_owned()));
}

#[test]
fn charts_without_values_say_so() {
    let nothing: [Chart; 5] = [
        lines().into(),
        lines().line("a", []).into(),
        lines().line("a", [(f64::NAN, 1.0), (1.0, f64::NAN)]).into(),
        BarChart::grouped("Chart", axis(), ["a"]).into(),
        BarChart::stacked("Chart", axis(), [""; 0]).row("r", []).into(),
    ];
    for chart in nothing {
        let xml = page_of(chart);
        assert!(picture(parsed(&xml).root()).is_none());
        assert!(xml.contains("No values to draw."), "{xml}");
    }
}

#[test]
fn every_value_is_in_the_table_and_told_on_hover() {
    let chart =
        lines().line("a", [(2.0, 20.0), (1.0, 10.0)]).line("b", [(2.0, 200.0), (3.0, 300.0)]);
    let xml = page_of(chart);
    let document = parsed(&xml);
    assert_eq!(values(document.root()), [["1", "10", ""], ["2", "20", "200"], ["3", "", "300"]]);
    assert_eq!(told(document.root()).len(), 4);

    let chart = BarChart::stacked("Chart", axis(), ["a", "b"])
        .group("g")
        .row("one", [1.0, 2.0])
        .row("two", [3.0]);
    let xml = page_of(chart);
    let document = parsed(&xml);
    assert_eq!(values(document.root()), [["g", "one", "1", "2", "3"], ["g", "two", "3", "–", "3"]]);
    let expected =
        ["g, one, a: 1 per second", "g, two, a: 3 per second", "g, one, b: 2 per second"];
    assert_eq!(told(document.root()), expected);
}

#[test]
fn two_values_of_a_line_at_one_place_are_two_rows() {
    let xml = page_of(lines().line("a", [(1.0, 10.0), (1.0, 11.0)]).line("b", [(1.0, 20.0)]));
    assert_eq!(values(parsed(&xml).root()), [["1", "10", "20"], ["1", "11", ""]]);
}

#[test]
fn segments_of_a_stack_follow_each_other_and_lengths_are_values() {
    // Asked for or not, a stack is linear.
    let chart = BarChart::stacked("Chart", axis().log(), ["a", "b", "c", "d"])
        .row("r", [10.0, -5.0, f64::NAN, 20.0]);
    let xml = page_of(chart);
    let document = parsed(&xml);
    let bars = with_class(picture(document.root()).unwrap(), "bar");
    let spans: Vec<(f64, f64)> =
        bars.iter().map(|bar| (number(*bar, "x"), number(*bar, "width"))).collect();
    let [(a, a_width), (b, b_width), (d, d_width)] = spans[..] else { panic!("{spans:?}") };
    let near = |one: f64, other: f64| (one - other).abs() < 1.6;
    assert!(near(a + a_width, d) && near(b + b_width, a), "{spans:?}");
    assert!(near(d_width, 2.0 * a_width) && near(a_width, 2.0 * b_width), "{spans:?}");
}

#[test]
fn bars_begin_at_zero() {
    let xml = page_of(BarChart::grouped("Chart", axis(), ["a", "b"]).row("r", [90.0, -45.0]));
    let document = parsed(&xml);
    let picture = picture(document.root()).unwrap();
    let zero = number(with_class(picture, "base")[0], "x1");
    let [up, down] = with_class(picture, "bar")[..] else { panic!("{xml}") };
    assert_eq!(number(up, "x"), zero);
    assert!((number(down, "x") + number(down, "width") - zero).abs() < 0.2);
    assert!((number(up, "width") - 2.0 * number(down, "width")).abs() < 0.3);
}

#[test]
fn pictures_name_themselves_their_axes_and_their_series() {
    let chart = LineChart::new("Chart", Axis::new("Budget", Unit::Bytes), axis().log())
        .line("one", [(1.0, 1.0)])
        .line("two", [(2.0, 2.0)]);
    let xml = page_of(chart);
    let document = parsed(&xml);
    let root = document.root();
    let label = picture(root).unwrap().attribute("aria-label").unwrap();
    assert_eq!(
        label,
        "Chart. Rate (per second), logarithmic over Budget (bytes), lines for one and two. The table has the values."
    );
    let axes: Vec<_> = with_class(root, "axis").iter().map(|node| node.text().unwrap()).collect();
    assert_eq!(axes, ["Rate (per second), logarithmic", "Budget (bytes)"]);
    let legend: Vec<_> = with_class(root, "legend")[0]
        .children()
        .map(|item| item.last_child().unwrap().text().unwrap())
        .collect();
    assert_eq!(legend, ["one", "two"]);
}

#[test]
fn a_single_series_needs_no_legend() {
    let xml = page_of(lines().line("a", [(1.0, 1.0)]));
    assert!(with_class(parsed(&xml).root(), "legend").is_empty());
}

#[test]
fn long_names_are_cut_in_the_picture_and_whole_on_hover_and_in_the_table() {
    let name = "a name that goes on ".repeat(10);
    let xml = page_of(BarChart::grouped("Chart", axis(), ["a"]).row(&name, [1.0]));
    let document = parsed(&xml);
    let shown = with_class(picture(document.root()).unwrap(), "end")[0].text().unwrap();
    assert!(shown.ends_with('…') && text_width(shown) < WIDTH / 2.0, "{shown}");
    assert!(told(document.root()).contains(&name));
    assert_eq!(values(document.root())[0][0], name);
}

#[test]
fn labels_of_ticks_do_not_touch() {
    // Ten digits to tell the ticks apart, in each unit and on each scale.
    for unit in [PLAIN, Unit::Bytes, Unit::Seconds, Unit::Share] {
        for (low, high) in [(1e9, 1e9 + 5.0), (1.0, 1e9), (3e-9, 3.1e-9)] {
            for x in [Axis::new("x", unit), Axis::new("x", unit).log()] {
                let chart = LineChart::new("Chart", x, axis()).line("a", [(low, 1.0), (high, 2.0)]);
                let xml = page_of(chart);
                let document = parsed(&xml);
                let labels = with_class(picture(document.root()).unwrap(), "middle");
                let spans: Vec<(f64, f64)> = labels
                    .iter()
                    .filter(|label| !label.attribute("class").unwrap().contains("axis"))
                    .map(|label| {
                        let (x, width) = (number(*label, "x"), text_width(label.text().unwrap()));
                        (x - width / 2.0, x + width / 2.0)
                    })
                    .collect();
                assert!(spans.windows(2).all(|two| two[0].1 < two[1].0), "{unit:?} {spans:?}");
            }
        }
    }
}

#[test]
fn whatever_the_values_are_everything_is_inside_the_picture() {
    let hostile = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        5e-324,
        f64::MIN_POSITIVE,
        1e-300,
        1e300,
        f64::MAX,
        f64::MIN,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e15,
        1e15 + 0.125,
    ];
    for unit in [PLAIN, Unit::Bytes, Unit::Seconds, Unit::Share] {
        for scale in [crate::Scale::Linear, crate::Scale::Log] {
            let axis = || Axis::new("axis", unit).scale(scale);
            for one in hostile {
                for other in hostile {
                    let charts: [Chart; 3] = [
                        LineChart::new("c", axis(), axis())
                            .line("a", [(one, other), (other, one)])
                            .into(),
                        BarChart::grouped("c", axis(), ["a", "b"]).row("r", [one, other]).into(),
                        BarChart::stacked("c", axis(), ["a", "b"]).row("r", [one, other]).into(),
                    ];
                    for chart in charts {
                        assert_inside(
                            &chart.markup().into_string(),
                            &format!("{one:e} {other:e} {axis:?}", axis = axis()),
                        );
                    }
                }
            }
        }
    }
}

fn assert_inside(figure: &str, case: &str) {
    let figure = figure.replace(" tabindex", " data-tabindex");
    let document = parsed(&figure);
    let Some(picture) = picture(document.root()) else { return };
    let size: Vec<f64> = picture
        .attribute("viewBox")
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let horizontal = ["x", "x1", "x2", "cx", "width"];
    let vertical = ["y", "y1", "y2", "cy", "height"];
    for node in picture.descendants() {
        for attribute in node.attributes() {
            let limit = match attribute.name() {
                name if horizontal.contains(&name) => size[2],
                name if vertical.contains(&name) => size[3],
                _ => continue,
            };
            let value: f64 = attribute.value().parse().unwrap();
            assert!((0.0..=limit).contains(&value), "{case}: {node:?} {attribute:?}");
        }
    }
}

#[test]
fn many_points_make_a_page_of_bearable_size() {
    let line = || (0..500).map(|x| (f64::from(x) * 1e6, f64::from(x * 7919 % 1000)));
    let chart = (0..6).fold(lines(), |chart, at| chart.line(format!("line {at}"), line()));
    let size = page_of(chart).len();
    assert!(size < 600_000, "{size} bytes");
}
