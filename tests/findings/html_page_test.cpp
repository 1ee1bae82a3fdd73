// Pages of HTML: nothing of a text is markup, pictures of a page do not share ids, and nothing is fetched.
#include "src/pictures/html_page.h"

#include <gtest/gtest.h>

#include "softamp/pictures/plot.h"
#include "src/text/shell_word.h"
#include "tests/html.h"

namespace softamp::html {
namespace {

using test::faults_of_page;

TEST(HtmlText, NoMarkOfATextIsMarkup) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped("2.0 ± 0.1"), "2.0 ± 0.1");
  EXPECT_EQ(escaped("two\nlines"), "two\nlines");
  EXPECT_EQ(escaped("\xff\x1b[2J\xc3"), "\\xff\\x1b[2J\\xc3");  // bytes that are no UTF-8, or that a terminal obeys
  EXPECT_EQ(paragraph("<script>", "dim"), "<p class=\"dim\">&lt;script&gt;</p>\n");
  EXPECT_EQ(heading("a & b", "x\"y"), "<h2 id=\"x&quot;y\">a &amp; b</h2>\n");
  EXPECT_EQ(folded("<s>", "<p>x</p>"), "<details><summary>&lt;s&gt;</summary>\n<p>x</p></details>\n");
  EXPECT_EQ(folded("s", "", true), "<details open><summary>s</summary>\n</details>\n");
}

TEST(HtmlTable, HasHeadsThatAreHeadsAndNumbersToTheRight) {
  Table table;
  table.caption = "Sums & <more>";
  table.columns = {"format", "n"};
  table.right = {false, true};
  table.rows = {{{"fp16", "", "there"}, {"12", "agrees"}}, {{"<b>"}, {"7"}}};
  table.row_heads = true;
  const std::string html = table.text();
  EXPECT_NE(html.find("<caption class=\"unseen\">Sums &amp; &lt;more&gt;</caption>"), std::string::npos) << html;
  EXPECT_NE(html.find("<th scope=\"col\">format</th><th scope=\"col\" class=\"n\">n</th>"), std::string::npos) << html;
  EXPECT_NE(html.find("<th scope=\"row\"><a href=\"#there\">fp16</a></th><td class=\"agrees n\">12</td>"),
            std::string::npos)
      << html;
  EXPECT_NE(html.find("<th scope=\"row\">&lt;b&gt;</th><td class=\"n\">7</td>"), std::string::npos) << html;
  EXPECT_EQ(faults_of_page(page("t", heading("h", "there") + html)), "");
  table.columns = {"", ""};
  EXPECT_EQ(table.text().find("<thead>"), std::string::npos);
}

/// An .svg as gnuplot writes it, in small.
std::string small_svg(const std::string& more = "", const std::string& top = "130.5") {
  return "<?xml version=\"1.0\"?>\n<svg \n width=\"960\" height=\"600\"\n viewBox=\"0 0 960 600\"\n "
         "xmlns=\"http://www.w3.org/2000/svg\">\n<title>Gnuplot</title>\n<desc>Produced by GNUPLOT</desc>\n"
         "<g id=\"gnuplot_canvas\"><defs><circle id='gpDot' r='1'/><use xlink:href='#gpDot' id='gpPt6'/></defs>\n"
         "<g fill=\"none\" color=\"black\">\n</g>\n<g fill=\"none\" color=\"red\"><path d='M1,2'/></g>\n"
         "<g transform=\"translate(30.00,27.00)\"><text><tspan font-size=\"9\" ></tspan></text></g>"
         "<g transform=\"translate(85.31,130.50)\"><text><tspan font-size=\"9\" >1 &lt; 2</tspan></text></g>" +
         more + "</g>\n<metadata>{\"x\": {\"least\": 0}, \"box\": {\"top\": " + top +
         ", \"bottom\": 500}}</metadata>\n</svg>\n";
}

TEST(HtmlPicture, IsInThePageWithIdsOfItsOwnAndWithoutGnuplotsNotes) {
  const std::string first = picture(small_svg(), 1, "Loss & <more>", "By step."),
                    second = picture(small_svg(), 2, "b", "");
  EXPECT_NE(first.find("<title id=\"p1-title\">Loss &amp; &lt;more&gt;</title>"), std::string::npos) << first;
  EXPECT_NE(first.find("aria-labelledby=\"p1-title p1-text\""), std::string::npos);
  EXPECT_NE(first.find("<figcaption id=\"p1-text\">By step.</figcaption>"), std::string::npos);
  EXPECT_NE(first.find("<circle id='p1-gpDot' r='1'/><use href='#p1-gpDot' id='p1-gpPt6'/>"), std::string::npos)
      << first;
  EXPECT_EQ(second.find("figcaption"), std::string::npos);
  EXPECT_NE(second.find("id='p2-gpDot'"), std::string::npos);
  for (const char* word : {"GNUPLOT", "Gnuplot", "metadata", "http", "<?xml", "xmlns", "width=\"960\""})
    EXPECT_EQ(first.find(word), std::string::npos) << word;
  EXPECT_EQ(first.find("color=\"black\""), std::string::npos) << "an empty group";
  EXPECT_NE(first.find("<g fill=\"none\" color=\"red\"><path d='M1,2'/></g>"), std::string::npos);
  EXPECT_EQ(faults_of_page(page("t", first + second)), "");
  // What is empty above the first line of text is left out.
  EXPECT_NE(first.find("viewBox=\"0 108 960 492\""), std::string::npos) << first.substr(0, 200);
  // But never a part of the axes.
  EXPECT_NE(picture(small_svg("", "93.61"), 1, "a", "").find("viewBox=\"0 72 960 528\""), std::string::npos);
}

TEST(HtmlPicture, OfAFileThatIsNoneOrMoreThanAPictureThereIsNothing) {
  EXPECT_EQ(picture("", 1, "a", "b"), "");
  EXPECT_EQ(picture("<svg", 1, "a", "b"), "");
  EXPECT_EQ(picture("</svg><svg>", 1, "a", "b"), "");
  EXPECT_EQ(picture("<svg></svg>", 1, "a", "b"), "") << "without a box";
  for (const char* more :
       {"<script>x</script>", "<SCRIPT>x</SCRIPT>", "<image href='x.png'/>", "<foreignObject/>", "<g onload=\"x()\"/>",
        "<use href=\"http://x\"/>", "<style>@import 'x'</style>", "<g fill=\"url(javascript:x)\"/>"})
    EXPECT_EQ(picture(small_svg(more), 1, "a", "b"), "") << more;
  // Its texts may speak of all that.
  for (const char* text :
       {"stochastic rounding on", "a onload=1", "javascript: @import", "href=\"http", " id=\"a\" url(#b)"}) {
    const std::string shown = picture(small_svg("<text>" + std::string(text) + "</text>"), 1, "a", "b");
    EXPECT_NE(shown.find(">" + std::string(text) + "<"), std::string::npos) << text;
  }
}

TEST(HtmlPicture, OfARealPlot) {
  if (!plots_can_be_drawn()) GTEST_SKIP() << "no gnuplot";
  Plot plot;
  plot.x_label = "a < b & c";
  plot.curves = {{"first", CurveStyle::kBold, {1, 2, 3}, {4, 5, 6}},
                 {"second", CurveStyle::kBold, {1, 2, 3}, {6, 5, 4}}};
  const std::string svg = svg_of(plot), html = picture(svg, 7, "a title", "a text");
  EXPECT_EQ(faults_of_page(page("t", html + picture(svg, 8, "a title", "a text"))), "");
  EXPECT_NE(html.find("id=\"p7-gnuplot_plot_1\""), std::string::npos);
  EXPECT_NE(html.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_LT(html.size(), svg.size());
}

TEST(ShellWord, IsReadBackAsItIs) {
  EXPECT_EQ(shell_word("precision=float16,float32"), "precision=float16,float32");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("=ls"), "'=ls'");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("~/x"), "'~/x'");
  EXPECT_EQ(shell_word("it's $HOME & `id` \"x\" !! *"), "'it'\\''s $HOME & `id` \"x\" !! *'");
  EXPECT_EQ(shell_word("a\n\xff'"), "$'a\\012\\377\\047'");
}

}  // namespace
}  // namespace softamp::html
